/** Files of a container that has no shell, through nothing but the engine's archives. Moving and removing is not possible so. */
import { SubletError } from '../../core/errors.ts';
import type { FileContent, FileInfo, FileKind, FileOptions, Files, ReadOptions } from '../../core/files.ts';
import { type TarEntry, untar } from '../../core/tar/untar.ts';
import { fileError, isMissing } from '../../provider/posix/file-errors.ts';
import { ReadLimit } from '../../provider/read-limit.ts';
import type { DockerApi } from './docker-api.ts';
import { isGone } from './docker-errors.ts';
import type { ContainerDetails } from './docker-types.ts';
import { tarFile } from './tar-file.ts';

export interface ArchiveFilesOptions {
  readonly api: DockerApi;
  readonly details: ContainerDetails;
  readonly facts: { readonly workdir: string };
  now(): number;
}

// Bits of Go's file modes, which the engine answers with.
const GO_DIRECTORY = 2 ** 31;
const GO_LINK = 2 ** 27;
const GO_SPECIAL = [2 ** 26, 2 ** 25, 2 ** 24];

export class ArchiveFiles implements Files {
  readonly #options: ArchiveFilesOptions;

  constructor(options: ArchiveFilesOptions) {
    this.#options = options;
  }

  read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return this.#collect(path, options, new ReadLimit(options.maxBytes));
  }

  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return Buffer.from(await this.read(path, options)).toString('utf8');
  }

  async *readStream(path: string, { signal }: FileOptions = {}): AsyncGenerator<Uint8Array> {
    for await (const entry of this.#entries(path, signal)) {
      if (entry.kind === 'link') yield* this.readStream(resolveLink(this.#resolve(path), entry.linkName), { signal });
      else if (entry.kind === 'file') yield* entry.body;
      else throw fileError(path, `${path}: Is a ${entry.kind === 'directory' ? 'directory' : 'special file'}`);
      return;
    }
  }

  async write(
    path: string,
    content: FileContent,
    options: FileOptions & { readonly mode?: number } = {},
  ): Promise<void> {
    const bytes = await collected(content);
    const absolute = this.#resolve(path);
    if ((await this.#statOrMissing(absolute, options.signal))?.kind === 'directory')
      throw fileError(path, `${path}: Is a directory`);
    await this.#put(absolute, { mode: options.mode ?? 0o644, sizeBytes: bytes.length }, [bytes], options.signal);
  }

  async writeMany(
    files: readonly { readonly path: string; readonly content: FileContent; readonly mode?: number }[],
    options: FileOptions = {},
  ): Promise<void> {
    for (const { path, content, mode } of files)
      await this.write(path, content, mode === undefined ? options : { ...options, mode });
  }

  async readMany(paths: readonly string[], options: ReadOptions = {}): Promise<readonly (Uint8Array | undefined)[]> {
    const limit = new ReadLimit(options.maxBytes);
    const read = async (path: string): Promise<Uint8Array | undefined> =>
      this.#collect(path, options, limit).catch((error: unknown) => {
        if (isMissing(error)) return undefined;
        throw error;
      });
    const contents: (Uint8Array | undefined)[] = [];
    for (const path of paths) contents.push(await read(path));
    return contents;
  }

  /** The engine sends the whole tree: slow for a large one. */
  async list(path: string, { signal }: FileOptions = {}): Promise<readonly FileInfo[]> {
    const directory = this.#resolve(path);
    const limit = ReadLimit.ofListing();
    const infos: FileInfo[] = [];
    for await (const entry of this.#entries(directory, signal)) {
      const parts = entry.name.replace(/\/$/, '').split('/');
      if (parts.length === 1 && entry.kind !== 'directory') throw fileError(path, `${path}: Is no directory`);
      if (parts.length !== 2) continue;
      limit.take(path, entry.name.length + entry.linkName.length);
      infos.push(toInfo(entry, parts[1] ?? '', directory));
    }
    return infos;
  }

  async stat(path: string, { signal }: FileOptions = {}): Promise<FileInfo> {
    const absolute = this.#resolve(path);
    return (await this.#statOrMissing(absolute, signal)) ?? Promise.reject(missing(path));
  }

  async exists(path: string, { signal }: FileOptions = {}): Promise<boolean> {
    return (await this.#statOrMissing(this.#resolve(path), signal)) !== undefined;
  }

  async mkdir(path: string, { signal }: FileOptions = {}): Promise<void> {
    const absolute = this.#resolve(path);
    const present = await this.#statOrMissing(absolute, signal);
    if (present?.kind === 'directory') return;
    if (present !== undefined) throw fileError(path, `mkdir: ${path}: File exists`);
    await this.#put(absolute, { mode: 0o755, sizeBytes: 0, isDirectory: true }, [], signal);
  }

  move(): Promise<void> {
    return Promise.reject(noShell('moved'));
  }

  remove(): Promise<void> {
    return Promise.reject(noShell('removed'));
  }

  async #collect(path: string, options: FileOptions, limit: ReadLimit): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.readStream(path, options)) {
      limit.take(path, chunk.length);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  async *#entries(path: string, signal: AbortSignal | undefined): AsyncGenerator<TarEntry> {
    const { api, details } = this.#options;
    const answer = await api.getArchive(details.Id, this.#resolve(path), signal).catch((error: unknown) => {
      throw isGone(error) ? missing(path) : error;
    });
    try {
      yield* untar(answer);
    } finally {
      answer.destroy();
    }
  }

  async #statOrMissing(path: string, signal: AbortSignal | undefined): Promise<FileInfo | undefined> {
    const { api, details } = this.#options;
    const encoded = await api.statPath(details.Id, path, signal).catch((error: unknown) => {
      if (isGone(error)) return undefined;
      throw error;
    });
    if (encoded === undefined) return undefined;
    const facts = JSON.parse(Buffer.from(encoded, 'base64').toString()) as Record<
      'name' | 'mtime' | 'linkTarget',
      string
    > &
      Record<'size' | 'mode', number>;
    const kind = kindOfGoMode(facts.mode);
    return {
      name: facts.name,
      path,
      kind,
      sizeBytes: facts.size,
      mode: facts.mode % 0o1000,
      modifiedAt: Date.parse(facts.mtime),
      target: kind === 'link' ? facts.linkTarget : undefined,
    };
  }

  /** From the root, because the engine makes the directories on the way and refuses to start in one that is missing. */
  async #put(
    path: string,
    header: { readonly mode: number; readonly sizeBytes: number; readonly isDirectory?: boolean },
    body: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { api, details } = this.#options;
    const [uid = 0, gid = uid] = /^\d/.test(details.Config.User) ? details.Config.User.split(':').map(Number) : [];
    const tar = tarFile(
      { ...header, name: path.slice(1), uid, gid, modifiedSeconds: this.#options.now() / 1000 },
      body,
    );
    await api.putArchive(details.Id, '/', tar, signal).catch((error: unknown) => {
      if (SubletError.is(error, 'ABORTED')) throw error;
      throw fileError(path, (error as Error).message);
    });
  }

  #resolve(path: string): string {
    const absolute = path.startsWith('/') ? path : `${this.#options.facts.workdir}/${path}`;
    return absolute.replace(/(?<=.)\/+$/, '');
  }
}

function toInfo(entry: TarEntry, name: string, directory: string): FileInfo {
  return {
    name,
    path: `${directory === '/' ? '' : directory}/${name}`,
    kind: entry.kind === 'hard-link' ? 'file' : entry.kind,
    sizeBytes: entry.sizeBytes,
    mode: entry.mode & 0o7777,
    modifiedAt: entry.modifiedSeconds * 1000,
    target: entry.kind === 'link' ? entry.linkName : undefined,
  };
}

function kindOfGoMode(mode: number): FileKind {
  const has = (bit: number): boolean => Math.floor(mode / bit) % 2 === 1;
  if (has(GO_DIRECTORY)) return 'directory';
  if (has(GO_LINK)) return 'link';
  return GO_SPECIAL.some(has) ? 'other' : 'file';
}

function resolveLink(from: string, target: string): string {
  return target.startsWith('/') ? target : `${from.replace(/\/[^/]*$/, '')}/${target}`;
}

async function collected(content: FileContent): Promise<Uint8Array> {
  if (typeof content === 'string') return Buffer.from(content);
  if (content instanceof Uint8Array) return content;
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function missing(path: string): SubletError {
  return fileError(path, `${path}: No such file or directory`);
}

function noShell(what: string): SubletError {
  return new SubletError('UNSUPPORTED', `Files cannot be ${what} in an image without a shell.`, {
    hint: 'Use an image with sh.',
  });
}
