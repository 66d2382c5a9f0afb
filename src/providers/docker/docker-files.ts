/**
 * Files of one container that has a shell. What is small travels in the script that writes it, what is large and of known
 * size as an archive, which the engine unpacks several times faster than a command reads its input; everything else is the shell's.
 */
import type { Commands } from '../../core/commands.ts';
import { SubletError, toSubletError } from '../../core/errors.ts';
import type { FileContent, FileInfo, FileOptions, Files, ReadOptions } from '../../core/files.ts';
import { untar } from '../../core/tar/untar.ts';
import { fileError } from '../../provider/posix/file-errors.ts';
import { createShellFiles } from '../../provider/posix/shell-files.ts';
import { ReadLimit } from '../../provider/read-limit.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import { ArchiveFiles } from './archive-files.ts';
import type { ContainerFacts } from './container-label.ts';
import type { DockerApi } from './docker-api.ts';
import type { ContainerDetails } from './docker-types.ts';
import type { Download } from './engine-download.ts';
import { encodeForPrintf } from '../../provider/posix/inside/printf-encoding.ts';
import { tarFile } from './tar-file.ts';

export interface DockerFilesOptions {
  readonly api: DockerApi;
  readonly details: ContainerDetails;
  readonly facts: ContainerFacts;
  readonly commands: Commands;
  /** Epoch milliseconds. */
  now(): number;
}

type WriteOptions = FileOptions & { readonly mode?: number };

const SMALL_BYTES = 32 * 1024;
const LARGE_BYTES = 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const CONCURRENCY = 4;
/** The engine's archives do not reach these: they are in memory, and the engine's view of the disk is below them. */
const MEMORY_DIRS = ['/dev', '/proc', '/sys'];
/** The exit status of a script that leaves the file to the other way. */
const OTHER_WAY = 65;

const MAKE_PARENT = 'case $1 in */*) mkdir -p -- "${1%/*}/" || exit;; esac';

/** Where the file will be and as whose, or that it is something that only a shell writes as it should: a link, a device. */
const PREPARE_WRITE = `
${MAKE_PARENT}
[ ! -d "$1" ] || { echo "$1: Is a directory" >&2; exit 1; }
[ ! -L "$1" ] || exit ${OTHER_WAY}
if [ -e "$1" ]; then
  [ -f "$1" ] && [ -w "$1" ] && facts=$(stat -c '%a %u %g' -- "$1") || exit ${OTHER_WAY}
else
  facts="- $(id -u) $(id -g)" || exit ${OTHER_WAY}
fi
dir=\${1%/*}
cd -- "\${dir:-/}" && [ -w . ] || exit ${OTHER_WAY}
printf '%s %s\\0' "$(umask)" "$facts"
pwd -P
`;

/** Large plain files are left to an archive. */
const READ_SMALL = `
if [ -f "$1" ] && size=$(stat -L -c %s -- "$1" 2>/dev/null) && [ "$size" -ge ${LARGE_BYTES} ]; then exit ${OTHER_WAY}; fi
exec cat <"$1"
`;

/** Where a large plain file is. Everything else is the shell's to read. */
const PREPARE_READ = `
[ -f "$1" ] && [ ! -L "$1" ] && [ -r "$1" ] && size=$(stat -c %s -- "$1") || exit ${OTHER_WAY}
[ "$size" -ge ${LARGE_BYTES} ] || exit ${OTHER_WAY}
dir=\${1%/*}
cd -- "\${dir:-/}" || exit ${OTHER_WAY}
printf '%s\\0' "$size"
pwd -P
`;

export function createDockerFiles(options: DockerFilesOptions): Files {
  if (!options.facts.hasShell) return new ArchiveFiles(options);
  return new DockerFiles(options);
}

class DockerFiles implements Files {
  readonly #options: DockerFilesOptions;
  readonly #shell: Files;
  readonly #memoryDirs: readonly string[];

  constructor(options: DockerFilesOptions) {
    this.#options = options;
    this.#shell = createShellFiles((command, run) => options.commands.run(command, run), options.facts.workdir);
    this.#memoryDirs = [...MEMORY_DIRS, ...Object.keys(options.details.HostConfig.Tmpfs ?? {})];
  }

  async write(path: string, content: FileContent, options: WriteOptions = {}): Promise<void> {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    if (!(bytes instanceof Uint8Array)) return this.#shell.write(path, bytes, options);
    if (bytes.length <= SMALL_BYTES) return this.#writeSmall(path, bytes, options);
    if (bytes.length >= LARGE_BYTES && (await this.#writeArchive(path, bytes, options))) return undefined;
    return this.#shell.write(path, bytes, options);
  }

  async writeMany(
    files: readonly { readonly path: string; readonly content: FileContent; readonly mode?: number }[],
    options: FileOptions = {},
  ): Promise<void> {
    const next = files.values();
    const worker = async (): Promise<void> => {
      for (const { path, content, mode } of next)
        await this.write(path, content, mode === undefined ? options : { ...options, mode });
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, files.length) }, worker));
  }

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const limit = new ReadLimit(options.maxBytes);
    const chunks: Uint8Array[] = [];
    const keep = (chunk: Uint8Array): void => {
      limit.take(path, chunk.length);
      chunks.push(chunk);
    };
    const small = await this.#script(READ_SMALL, path, options.signal, keep);
    if (small === undefined) for await (const chunk of this.readStream(path, options)) keep(chunk);
    return Buffer.concat(chunks);
  }

  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return Buffer.from(await this.read(path, options)).toString('utf8');
  }

  async *readStream(path: string, options: FileOptions = {}): AsyncGenerator<Uint8Array> {
    const archive = await this.#readArchive(path, options.signal);
    if (archive === undefined) return yield* this.#shell.readStream(path, options);
    try {
      for await (const entry of untar(archive)) return yield* entry.body;
    } catch (cause) {
      throw toSubletError(cause, 'FILE_FAILED', options.signal);
    } finally {
      archive.destroy();
    }
  }

  readMany(paths: readonly string[], options?: ReadOptions): Promise<readonly (Uint8Array | undefined)[]> {
    return this.#shell.readMany(paths, options);
  }

  list(path: string, options?: FileOptions): Promise<readonly FileInfo[]> {
    return this.#shell.list(path, options);
  }

  stat(path: string, options?: FileOptions): Promise<FileInfo> {
    return this.#shell.stat(path, options);
  }

  exists(path: string, options?: FileOptions): Promise<boolean> {
    return this.#shell.exists(path, options);
  }

  mkdir(path: string, options?: FileOptions): Promise<void> {
    return this.#shell.mkdir(path, options);
  }

  move(from: string, to: string, options?: FileOptions): Promise<void> {
    return this.#shell.move(from, to, options);
  }

  remove(path: string, options?: FileOptions): Promise<void> {
    return this.#shell.remove(path, options);
  }

  async #writeSmall(path: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    const { mode, signal } = options;
    // The shell's own printf does not always say why it failed, as on a full disk; the other way does.
    const text = `printf %b '${encodeForPrintf(bytes)}' >"$1" 2>/dev/null || exit ${OTHER_WAY}`;
    const script =
      mode === undefined
        ? `${MAKE_PARENT}; ${text}`
        : `umask 077; ${MAKE_PARENT}; ${text}; chmod ${(mode & 0o7777).toString(8)} "$1"`;
    if ((await this.#script(script, path, signal)) === undefined) await this.#shell.write(path, bytes, options);
  }

  /** False when it is the shell's to write. */
  async #writeArchive(path: string, bytes: Uint8Array, { mode, signal }: WriteOptions): Promise<boolean> {
    const { api, details } = this.#options;
    if (details.HostConfig.ReadonlyRootfs) return false;
    const place = await this.#placeOnDisk(PREPARE_WRITE, path, signal);
    if (place === undefined) return false;
    const [umask = '', present = '', uid = '', gid = ''] = place.facts.split(' ');
    const usual = present === '-' ? 0o666 & ~Number.parseInt(umask, 8) : Number.parseInt(present, 8);
    const header = {
      name: place.name,
      mode: mode ?? usual,
      uid: Number(uid),
      gid: Number(gid),
      sizeBytes: bytes.length,
      modifiedSeconds: this.#options.now() / 1000,
    };
    try {
      await api.putArchive(details.Id, place.dir, tarFile(header, chunksOf(bytes)), signal);
      return true;
    } catch (error) {
      if (SubletError.is(error, 'ABORTED')) throw error;
      if (SubletError.is(error, 'QUOTA_EXCEEDED')) throw fileError(path, error.message);
      return false;
    }
  }

  /** undefined when it is the shell's to read. */
  async #readArchive(path: string, signal: AbortSignal | undefined): Promise<Download | undefined> {
    const { api, details } = this.#options;
    const place = await this.#placeOnDisk(PREPARE_READ, path, signal);
    if (place === undefined) return undefined;
    return api
      .getArchive(details.Id, `${place.dir === '/' ? '' : place.dir}/${place.name}`, signal)
      .catch((error: unknown) => {
        if (SubletError.is(error, 'ABORTED')) throw error;
        return undefined;
      });
  }

  /** Where the engine finds the file, with every link on the way resolved; undefined when it does not. */
  async #placeOnDisk(
    script: string,
    path: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly facts: string; readonly dir: string; readonly name: string } | undefined> {
    const said = await this.#script(script, path, signal);
    const at = said?.indexOf('\0') ?? -1;
    if (said === undefined || at === -1) return undefined;
    // The line's end is the script's; one before it is the name's.
    const dir = said.slice(at + 1, -1);
    if (this.#memoryDirs.some((memory) => `${dir}/`.startsWith(`${memory}/`))) return undefined;
    return { facts: said.slice(0, at), dir, name: path.replace(/\/+$/, '').replace(/^.*\//s, '') };
  }

  /** What the script prints; undefined when it ends with OTHER_WAY. */
  async #script(
    script: string,
    path: string,
    signal: AbortSignal | undefined,
    onStdout?: (chunk: Uint8Array) => void,
  ): Promise<string | undefined> {
    const absolute = (path.startsWith('/') ? path : `${this.#options.facts.workdir}/${path}`).replace(/(?<=.)\/+$/, '');
    const command = `set -- ${shellQuote(absolute)}\n${script}`;
    const result = await this.#options.commands.run(command, { signal, onStdout, env: { LC_ALL: 'C' } });
    if (result.exitCode === OTHER_WAY) return undefined;
    if (result.exitCode !== 0)
      throw fileError(path, result.stderr || `ended with ${result.exitCode ?? 'no exit code'}`);
    return result.stdout;
  }
}

function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
