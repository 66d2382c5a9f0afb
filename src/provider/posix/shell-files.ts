/**
 * Files in a sandbox through nothing but its `sh`: the paths and links that count are the sandbox's own.
 *
 * Content travels as the input and output of `cat`; paths travel as arguments and are absolute, so no name is ever taken
 * for an option or a piece of script.
 */
import { posix } from 'node:path';
import type { Commands, RunOptions } from '../../core/commands.ts';
import { abortedError, SubletError } from '../../core/errors.ts';
import type { FileContent, FileInfo, FileOptions, Files, ReadOptions } from '../../core/files.ts';
import { cryptoBytes } from '../../core/ids.ts';
import { ReadLimit } from '../read-limit.ts';
import { fileError, isMissing } from './file-errors.ts';
import { FIND_LIST, FIND_STAT, parseFileInfos, PORTABLE_LIST, PORTABLE_STAT } from './file-listing.ts';
import { Handoff } from './handoff.ts';

/** Files asked for together are read and written this many at a time. */
const CONCURRENCY = 8;
/** The tools' messages are short; the content goes through the callback. */
const MESSAGE_BYTES = 8 * 1024;
// The messages are matched, so they must not be translated.
const ENV = { LC_ALL: 'C' };

const WRITE = 'case $1 in */*) mkdir -p -- "${1%/*}/" || exit;; esac; cat >"$1"';
const WRITE_WITH_MODE = `umask 077; ${WRITE} && chmod "$2" "$1"`;
// A source may fail half-way, and its end looks the same from inside: what it gives lies beside its place until all of it is there.
const STAGE = `
mkdir -p -- "\${1%/*}/" || exit
[ -z "$3" ] || umask 077
if [ -d "$1" ] || [ ! -w "\${1%/*}/" ]; then exec cat >"$1"; fi
exec cat >"$2"`;
const TAKE_PLACE = `
if [ ! -e "$2" ]; then :
elif [ -e "$1" ] || [ -L "$1" ]; then cat <"$2" >"$1" && rm -f -- "$2"
else mv -- "$2" "$1"; fi && { [ -z "$3" ] || chmod "$3" "$1"; }`;
// Without -T an existing directory swallows what is moved onto it. rename(2) takes its place only when it is empty.
const MOVE = `
[ -e "$1" ] || [ -L "$1" ] || { echo "mv: $1: No such file or directory" >&2; exit 1; }
if mv --help 2>&1 | grep -q -e '-T'; then exec mv -f -T -- "$1" "$2"; fi
if [ -L "$2" ]; then rm -f -- "$2"
elif [ -d "$2" ]; then
  [ -d "$1" ] && [ ! -L "$1" ] || { echo "mv: $2: Is a directory" >&2; exit 1; }
  rmdir -- "$2" || exit
fi
exec mv -f -- "$1" "$2"`;

/** `workdir` is where relative paths start. */
export function createShellFiles(run: Commands['run'], workdir: string): Files {
  return new ShellFiles(run, workdir);
}

class ShellFiles implements Files {
  readonly #run: Commands['run'];
  readonly #workdir: string;
  #hasPrintf: Promise<boolean> | undefined;

  constructor(run: Commands['run'], workdir: string) {
    this.#run = run;
    this.#workdir = workdir;
  }

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return this.#collect('exec cat <"$1"', path, options, new ReadLimit(options.maxBytes));
  }

  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return Buffer.from(await this.read(path, options)).toString('utf8');
  }

  async *readStream(path: string, options: FileOptions = {}): AsyncGenerator<Uint8Array> {
    const chunks = new Handoff<Uint8Array>();
    const leave = new AbortController();
    const signal = options.signal === undefined ? leave.signal : AbortSignal.any([options.signal, leave.signal]);
    const ended = this.#script('exec cat <"$1"', path, [], { signal, onStdout: (chunk) => chunks.give(chunk) }).then(
      () => chunks.end(),
      (error: unknown) => chunks.fail(error),
    );
    try {
      yield* chunks;
    } finally {
      leave.abort();
      await ended;
    }
  }

  async write(
    path: string,
    content: FileContent,
    options: FileOptions & { readonly mode?: number } = {},
  ): Promise<void> {
    const { mode, ...rest } = options;
    if (typeof content !== 'string' && !(content instanceof Uint8Array)) return this.#writeFrom(path, content, options);
    if (mode === undefined) await this.#script(WRITE, path, [], { ...rest, stdin: content });
    else await this.#script(WRITE_WITH_MODE, path, [(mode & 0o7777).toString(8)], { ...rest, stdin: content });
  }

  async #writeFrom(
    path: string,
    source: AsyncIterable<Uint8Array>,
    { mode, ...rest }: FileOptions & { readonly mode?: number },
  ): Promise<void> {
    const target = this.#resolve(path);
    const staged = `${target.slice(0, target.lastIndexOf('/'))}/.sublet-${Buffer.from(cryptoBytes(8)).toString('hex')}`;
    const args = [staged, mode === undefined ? '' : (mode & 0o7777).toString(8)];
    try {
      await this.#script(STAGE, path, args, { ...rest, stdin: source });
      await this.#script(TAKE_PLACE, path, args, rest);
    } catch (error) {
      await this.#run(['rm', '-f', '--', staged], { maxOutputBytes: 0 }).catch(() => undefined);
      throw error;
    }
  }

  async writeMany(
    files: readonly { readonly path: string; readonly content: FileContent; readonly mode?: number }[],
    options: FileOptions = {},
  ): Promise<void> {
    await eachOf(files, ({ path, content, mode }) =>
      this.write(path, content, mode === undefined ? options : { ...options, mode }),
    );
  }

  readMany(paths: readonly string[], options: ReadOptions = {}): Promise<readonly (Uint8Array | undefined)[]> {
    const limit = new ReadLimit(options.maxBytes);
    return eachOf(paths, (path) => this.#collect('exec cat <"$1"', path, options, limit).catch(undefinedIfMissing));
  }

  async list(path: string, options: FileOptions = {}): Promise<readonly FileInfo[]> {
    const directory = this.#resolve(path);
    return this.#infos(
      FIND_LIST,
      PORTABLE_LIST,
      path,
      (name) => `${directory === '/' ? '' : directory}/${name}`,
      options,
    );
  }

  async stat(path: string, options: FileOptions = {}): Promise<FileInfo> {
    const [info] = await this.#infos(FIND_STAT, PORTABLE_STAT, path, () => this.#resolve(path), options);
    if (info === undefined) throw fileError(path, `${path}: No such file or directory`);
    return info;
  }

  async exists(path: string, options: FileOptions = {}): Promise<boolean> {
    return this.stat(path, options)
      .then(() => true, undefinedIfMissing)
      .then((found) => found === true);
  }

  async mkdir(path: string, options: FileOptions = {}): Promise<void> {
    await this.#script('exec mkdir -p -- "$1"', path, [], options);
  }

  async move(from: string, to: string, options: FileOptions = {}): Promise<void> {
    await this.#script(MOVE, from, [this.#resolve(to)], options);
  }

  async remove(path: string, options: FileOptions = {}): Promise<void> {
    // `rm` would empty it before it finds that it cannot be removed.
    if (`${this.#workdir}/`.startsWith(`${posix.normalize(this.#resolve(path))}/`.replace('//', '/')))
      throw new SubletError('FILE_FAILED', `${path} holds the sandbox's working directory and cannot be removed.`, {
        details: { path },
        hint: 'Remove what is in it by name, or destroy the sandbox.',
      });
    await this.#script('exec rm -rf -- "$1"', path, [], options);
  }

  async #infos(
    find: string,
    portable: string,
    path: string,
    pathOf: (name: string) => string,
    options: FileOptions,
  ): Promise<FileInfo[]> {
    const script = (await this.#findCanPrint()) ? find : portable;
    return parseFileInfos(await this.#collect(script, path, options, ReadLimit.ofListing()), pathOf);
  }

  /** What the script prints. It is ended when that is more than the limit lets through. */
  async #collect(script: string, path: string, { signal }: FileOptions, limit: ReadLimit): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    const onStdout = (chunk: Uint8Array): void => {
      limit.take(path, chunk.length);
      chunks.push(chunk);
    };
    await this.#script(script, path, [], { signal, onStdout });
    return Buffer.concat(chunks);
  }

  /** GNU find prints all facts of a directory in one go; busybox has no -printf. Asked once. */
  #findCanPrint(): Promise<boolean> {
    this.#hasPrintf ??= this.#run(['sh', '-c', 'find / -maxdepth 0 -printf ""'], { maxOutputBytes: 0 }).then(
      (result) => result.exitCode === 0,
      (error: unknown) => {
        this.#hasPrintf = undefined;
        throw error;
      },
    );
    return this.#hasPrintf;
  }

  async #script(script: string, path: string, args: readonly string[], options: RunOptions): Promise<void> {
    const result = await this.#run(['sh', '-c', script, 'sh', this.#resolve(path), ...args], {
      ...options,
      env: ENV,
      maxOutputBytes: MESSAGE_BYTES,
    });
    if (options.signal?.aborted === true && result.exitCode !== 0) throw abortedError(options.signal);
    if (result.exitCode !== 0)
      throw fileError(path, result.stderr || `ended with ${result.exitCode ?? result.signal ?? 'no exit code'}`);
  }

  /** Absolute, without a slash at the end: `link/` would follow the link. */
  #resolve(path: string): string {
    const absolute = path.startsWith('/') ? path : `${this.#workdir}/${path}`;
    return absolute.replace(/(?<=.)\/+$/, '');
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (isMissing(error)) return undefined;
  throw error;
}

/** Results in the order asked. After a failure nothing new is begun. */
async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const next = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of next) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker));
  return results;
}
