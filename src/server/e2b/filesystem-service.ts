/** `filesystem.Filesystem`: what is where, and moving it about. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, dirname } from 'node:path/posix';
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { FileInfo, Files } from '../../core/files.ts';
import { type Message, serveStream, serveUnary, timeoutOf } from './connect-protocol.ts';
import { DirectoryWatch, type WatchEvent } from './directory-watch.ts';
import { E2bRefusal } from './e2b-refusal.ts';
import { boolean, integer, optional, text } from './message-fields.ts';

const MAX_DEPTH = 100;
const MAX_WATCHERS = 100;

export class FilesystemService {
  readonly #files: Files;
  readonly #clock: Clock;
  /** Asked for what happened, instead of being told. */
  readonly #watchers = new Map<string, { readonly watch: DirectoryWatch; readonly events: WatchEvent[] }>();

  constructor(files: Files, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
  }

  serve(method: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const unary = (work: (message: Message) => Promise<Message>): Promise<void> => serveUnary(request, response, work);
    switch (method) {
      case 'Stat':
        return unary(async (message) => ({ entry: toEntry(await this.#files.stat(text(message, 'path'))) }));
      case 'MakeDir':
        return unary((message) => this.#makeDir(text(message, 'path')));
      case 'Move':
        return unary((message) => this.#move(text(message, 'source'), text(message, 'destination')));
      case 'ListDir':
        return unary(async (message) => {
          const depth = Math.min(optional(message, 'depth', integer) || 1, MAX_DEPTH);
          return { entries: (await listTree(this.#files, text(message, 'path'), depth)).map(toEntry) };
        });
      case 'Remove':
        return unary(async (message) => this.#files.remove(text(message, 'path')).then(() => ({})));
      case 'WatchDir':
        return serveStream(request, response, async (message, stream) => {
          const watch = await this.#watch(message, (event) => void stream.send({ filesystem: { ...event } }));
          await stream.send({ start: {} });
          const late = this.#after(timeoutOf(request));
          const isLate = await Promise.race([stream.closed.then(() => false), late.passed]);
          late.cancel();
          watch.close();
          if (isLate) throw E2bRefusal.of('deadline_exceeded', 'The watch took longer than its time-out.');
        });
      case 'CreateWatcher':
        return unary((message) => this.#createWatcher(message));
      case 'GetWatcherEvents':
        return unary(async (message) => ({ events: this.#watcher(message).events.splice(0) }));
      case 'RemoveWatcher':
        return unary(async (message) => {
          this.#watcher(message).watch.close();
          this.#watchers.delete(text(message, 'watcherId'));
          return {};
        });
      default:
        return unary(() => Promise.reject(E2bRefusal.of('unimplemented', `There is no method ${method}.`)));
    }
  }

  close(): void {
    for (const { watch } of this.#watchers.values()) watch.close();
    this.#watchers.clear();
  }

  async #makeDir(path: string): Promise<Message> {
    const present = await this.#files.stat(path).catch((cause: unknown) => {
      if (SubletError.is(cause, 'FILE_NOT_FOUND')) return undefined;
      throw cause;
    });
    if (present !== undefined) throw E2bRefusal.of('already_exists', `${present.kind} already exists: ${path}`);
    await this.#files.mkdir(path);
    return { entry: toEntry(await this.#files.stat(path)) };
  }

  async #move(source: string, destination: string): Promise<Message> {
    await this.#files.stat(source);
    await this.#files.mkdir(dirname(destination));
    await this.#files.move(source, destination);
    return { entry: toEntry(await this.#files.stat(destination)) };
  }

  async #createWatcher(message: Message): Promise<Message> {
    if (this.#watchers.size >= MAX_WATCHERS) {
      throw E2bRefusal.of('resource_exhausted', `A sandbox has at most ${MAX_WATCHERS} watchers.`);
    }
    const events: WatchEvent[] = [];
    const watch = await this.#watch(message, (event) => void events.push(event));
    const watcherId = globalThis.crypto.randomUUID();
    this.#watchers.set(watcherId, { watch, events });
    return { watcherId };
  }

  #watcher(message: Message): { readonly watch: DirectoryWatch; readonly events: WatchEvent[] } {
    const id = text(message, 'watcherId');
    const found = this.#watchers.get(id);
    if (found === undefined) throw E2bRefusal.of('not_found', `watcher with id ${id} not found`);
    return found;
  }

  async #watch(message: Message, tell: (event: WatchEvent) => void): Promise<DirectoryWatch> {
    const path = text(message, 'path');
    const info = await this.#files.stat(path);
    if (info.kind !== 'directory') throw E2bRefusal.of('invalid_argument', `path ${path} is not a directory`);
    const recursive = optional(message, 'recursive', boolean) ?? false;
    const look = (): Promise<readonly FileInfo[]> => listTree(this.#files, path, recursive ? MAX_DEPTH : 1);
    return DirectoryWatch.open({ root: info.path, look, tell, clock: this.#clock });
  }

  #after(ms: number | undefined): { readonly passed: Promise<boolean>; readonly cancel: () => void } {
    let cancel = (): void => undefined;
    const passed = new Promise<boolean>((resolve) => {
      if (ms !== undefined) cancel = this.#clock.schedule(ms, () => resolve(true));
    });
    return { passed, cancel };
  }
}

/** Directories below are entered down to `depth`; one that goes away meanwhile is no failure. */
async function listTree(files: Files, path: string, depth: number): Promise<FileInfo[]> {
  const found: FileInfo[] = [];
  for (const info of await files.list(path)) {
    found.push(info);
    if (info.kind !== 'directory' || depth <= 1) continue;
    found.push(...(await listTree(files, info.path, depth - 1).catch(() => [])));
  }
  return found;
}

const TYPES = { file: 'FILE_TYPE_FILE', directory: 'FILE_TYPE_DIRECTORY', link: 'FILE_TYPE_SYMLINK' } as const;

function toEntry(info: FileInfo): Message {
  return {
    name: info.name || basename(info.path),
    type: info.kind === 'other' ? 'FILE_TYPE_UNSPECIFIED' : TYPES[info.kind],
    path: info.path,
    size: String(info.sizeBytes),
    mode: info.mode,
    permissions: permissions(info),
    owner: 'user',
    group: 'user',
    modifiedTime: new Date(info.modifiedAt).toISOString(),
    ...(info.target === undefined ? {} : { symlinkTarget: info.target }),
  };
}

/** As `ls -l` shows it. */
function permissions({ kind, mode }: FileInfo): string {
  const first = { file: '-', directory: 'd', link: 'L', other: '?' }[kind];
  const bits = Array.from('rwxrwxrwx', (letter, index) => ((mode >> (8 - index)) & 1 ? letter : '-'));
  return first + bits.join('');
}
