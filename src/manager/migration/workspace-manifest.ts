/** What is in a working directory, entry by entry: read from an archive as it goes by, so that no content is held. */
import { createHash } from 'node:crypto';
import { SubletError } from '../../core/errors.ts';
import type { TarEntry } from '../../core/tar/untar.ts';
import { untar } from '../../core/tar/untar.ts';

/** A name and a hash for each entry are held: this many are some 200 MB. */
const MOST_ENTRIES = 1_000_000;
const MOST_NAMED = 5;

export class WorkspaceManifest {
  /** By the bytes of its name: its kind, its mode, and the hash of its content or where it leads. */
  readonly #entries = new Map<string, string>();
  #hardLinks = 0;
  #bytes = 0;

  get entries(): number {
    return this.#entries.size;
  }

  /** Of files; those of two names count once. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Of all entries in the order of their names, which archives do not keep. */
  get sha256(): string {
    const hash = createHash('sha256');
    for (const name of [...this.#entries.keys()].toSorted()) hash.update(`${name}\0${this.#entries.get(name)}\0`);
    return hash.digest('hex');
  }

  /** FILE_FAILED when there are more than can be compared. */
  add(name: string, facts: string, bytes: number): void {
    if (this.#entries.size >= MOST_ENTRIES)
      throw new SubletError('FILE_FAILED', `The working directory has more than ${MOST_ENTRIES} entries.`, {
        hint: 'Remove what can be made again, or pack it into archives.',
      });
    this.#entries.set(name, facts);
    this.#bytes += bytes;
  }

  /** A second name of a file: which of them is the first one depends on the order of reading. */
  addHardLink(name: string, target: string): void {
    this.#hardLinks += 1;
    this.add(name, this.#entries.get(target) ?? `hard link to ${target}`, 0);
  }

  /** What differs, in words, a few of them by name; undefined when nothing does. */
  difference(other: WorkspaceManifest): string | undefined {
    const names = new Set([...this.#entries.keys(), ...other.#entries.keys()]);
    const differing = [...names].filter((name) => this.#entries.get(name) !== other.#entries.get(name));
    if (differing.length === 0) return this.#hardLinks === other.#hardLinks ? undefined : 'hard links';
    const named = differing.slice(0, MOST_NAMED).map((name) => JSON.stringify(shown(name)));
    const more = differing.length > MOST_NAMED ? ` and ${differing.length - MOST_NAMED} more` : '';
    return `${named.join(', ')}${more}`;
  }
}

/** FILE_FAILED when the archive is cut short. */
export async function readManifest(archive: AsyncIterable<Uint8Array>): Promise<WorkspaceManifest> {
  const manifest = new WorkspaceManifest();
  const source = archive[Symbol.asyncIterator]();
  const rest: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: () => ({ next: () => source.next() }) };
  for await (const entry of untar(rest, 'latin1')) await addEntry(manifest, entry);
  // What comes after the closing blocks is read too, so that whoever packs is not held up.
  for (let next = await source.next(); next.done !== true;) next = await source.next();
  return manifest;
}

/** The manifest of what goes by to `use`, also of what that leaves unread at the end. */
export async function whileReading(
  archive: AsyncIterable<Uint8Array>,
  use: (passed: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<WorkspaceManifest> {
  const source = archive[Symbol.asyncIterator]();
  const copy = new TransformStream<Uint8Array, Uint8Array>();
  const writer = copy.writable.getWriter();
  const reading = readManifest(copy.readable);
  reading.catch((cause: unknown) => writer.abort(cause).catch(() => {}));
  let turn: Promise<unknown> = Promise.resolve();
  // One at a time: `use` may end while it waits for more.
  const next = (): Promise<IteratorResult<Uint8Array, unknown>> => {
    const pulled = turn.then(async () => {
      const part = await source.next();
      if (part.done !== true) await writer.write(part.value);
      return part;
    });
    turn = pulled.catch(() => {});
    return pulled;
  };
  try {
    await use({ [Symbol.asyncIterator]: () => ({ next }) });
    while ((await next()).done !== true);
    await writer.close();
    return await reading;
  } catch (cause) {
    await writer.abort(cause).catch(() => {});
    await reading.catch(() => {});
    throw cause;
  }
}

async function addEntry(manifest: WorkspaceManifest, entry: TarEntry): Promise<void> {
  const name = plainName(entry.name);
  // The working directory itself: its owner and mode are its sandbox's.
  if (name === '') return;
  const mode = (entry.mode & 0o7777).toString(8);
  switch (entry.kind) {
    case 'file': {
      const hash = createHash('sha256');
      for await (const chunk of entry.body) hash.update(chunk);
      manifest.add(name, `file ${mode} ${entry.sizeBytes} ${hash.digest('hex')}`, entry.sizeBytes);
      return;
    }
    case 'hard-link':
      manifest.addHardLink(name, plainName(entry.linkName));
      return;
    case 'link':
      manifest.add(name, `link ${entry.linkName}`, 0);
      return;
    case 'directory':
    case 'other':
      manifest.add(name, `${entry.kind} ${mode}`, 0);
  }
}

function plainName(name: string): string {
  return name
    .replace(/^(\.\/)+/, '')
    .replace(/\/+$/, '')
    .replace(/^\.$/, '');
}

// Names are bytes; most of them are UTF-8.
function shown(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}
