/** Files in memory, for the faulty provider. */
import { SubletError } from '../core/errors.ts';
import type { FileContent, FileInfo, Files, ReadOptions } from '../core/files.ts';
import { ReadLimit } from '../provider/read-limit.ts';

interface Node {
  readonly bytes: Uint8Array | undefined;
  readonly mode: number;
  readonly modifiedAt: number;
}

const WORKDIR = '/workspace';

export class FaultyFiles implements Files {
  readonly #nodes = new Map<string, Node>();
  readonly #now: () => number;
  readonly #guard: () => Promise<void>;

  /** `guard` is passed before every operation: it throws when the sandbox is gone and waits while it is paused. */
  constructor(now: () => number, guard: () => Promise<void>) {
    this.#now = now;
    this.#guard = guard;
    for (const path of ['/', '/tmp', WORKDIR]) this.#addDirectory(path);
  }

  read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return this.#read(path, new ReadLimit(options.maxBytes));
  }

  async readText(path: string, options?: ReadOptions): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  async *readStream(path: string): AsyncIterable<Uint8Array> {
    yield await this.#read(path, new ReadLimit(Infinity));
  }

  async write(path: string, content: FileContent, options?: { readonly mode?: number }): Promise<void> {
    await this.#guard();
    const bytes = await collect(content);
    const target = resolve(path);
    this.#addParents(target);
    this.#nodes.set(target, { bytes, mode: options?.mode ?? 0o644, modifiedAt: this.#now() });
  }

  async writeMany(
    files: readonly { readonly path: string; readonly content: FileContent; readonly mode?: number }[],
  ): Promise<void> {
    for (const { path, content, mode } of files) await this.write(path, content, mode === undefined ? {} : { mode });
  }

  readMany(paths: readonly string[], options: ReadOptions = {}): Promise<readonly (Uint8Array | undefined)[]> {
    const limit = new ReadLimit(options.maxBytes);
    return Promise.all(paths.map(async (path) => ((await this.exists(path)) ? this.#read(path, limit) : undefined)));
  }

  async list(path: string): Promise<readonly FileInfo[]> {
    await this.#guard();
    const directory = resolve(path);
    if (this.#node(path).bytes !== undefined) throw new SubletError('FILE_FAILED', `${path} is not a directory.`);
    return [...this.#nodes.keys()]
      .filter((candidate) => candidate !== '/' && parentOf(candidate) === directory)
      .map((child) => this.#info(child));
  }

  async stat(path: string): Promise<FileInfo> {
    await this.#guard();
    this.#node(path);
    return this.#info(resolve(path));
  }

  async exists(path: string): Promise<boolean> {
    await this.#guard();
    return this.#nodes.has(resolve(path));
  }

  async mkdir(path: string): Promise<void> {
    await this.#guard();
    this.#addParents(`${resolve(path)}/x`);
  }

  async move(from: string, to: string): Promise<void> {
    await this.#guard();
    this.#node(from);
    const [source, target] = [resolve(from), resolve(to)];
    this.#addParents(target);
    for (const [path, node] of this.#tree(source)) {
      this.#nodes.delete(path);
      this.#nodes.set(target + path.slice(source.length), node);
    }
  }

  async remove(path: string): Promise<void> {
    await this.#guard();
    for (const [found] of this.#tree(resolve(path))) this.#nodes.delete(found);
  }

  async #read(path: string, limit: ReadLimit): Promise<Uint8Array> {
    await this.#guard();
    const bytes = this.#file(path);
    limit.take(path, bytes.length);
    return Uint8Array.from(bytes);
  }

  #file(path: string): Uint8Array {
    const { bytes } = this.#node(path);
    if (bytes === undefined) throw new SubletError('FILE_FAILED', `${path} is a directory.`);
    return bytes;
  }

  #node(path: string): Node {
    const node = this.#nodes.get(resolve(path));
    if (node === undefined) throw new SubletError('FILE_NOT_FOUND', `No such file: ${path}.`, { details: { path } });
    return node;
  }

  #tree(root: string): [string, Node][] {
    return [...this.#nodes].filter(([path]) => path === root || path.startsWith(`${root}/`));
  }

  #addParents(path: string): void {
    for (let parent = parentOf(path); !this.#nodes.has(parent); parent = parentOf(parent)) this.#addDirectory(parent);
  }

  #addDirectory(path: string): void {
    this.#nodes.set(path, { bytes: undefined, mode: 0o755, modifiedAt: this.#now() });
  }

  #info(path: string): FileInfo {
    const node = this.#node(path);
    return {
      name: path.slice(path.lastIndexOf('/') + 1),
      path,
      kind: node.bytes === undefined ? 'directory' : 'file',
      sizeBytes: node.bytes?.length ?? 0,
      mode: node.mode,
      modifiedAt: node.modifiedAt,
    };
  }
}

function resolve(path: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${WORKDIR}/${path}`).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

async function collect(content: FileContent): Promise<Uint8Array> {
  if (typeof content === 'string') return new TextEncoder().encode(content);
  if (content instanceof Uint8Array) return Uint8Array.from(content);
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(Uint8Array.from(chunk));
  return Buffer.concat(chunks);
}
