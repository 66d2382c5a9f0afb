/** A Sublet of its own for a test: the built command line in a temporary home, with nothing left behind. */
import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const MAIN = path.resolve(import.meta.dirname, '../../dist/cli/main.cjs');

export interface CliResult {
  /** 128+n when signal n ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface CliProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<CliResult>;
  /** Resolves when standard output has the text; rejects when the process ends without it. */
  waitFor(text: string): Promise<void>;
}

export class Installation {
  readonly home: string;
  /** A place for a test's own files. */
  readonly files: string;
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
    this.home = path.join(root, 'home');
    this.files = root;
  }

  static async create(): Promise<Installation> {
    return new Installation(await mkdtemp(path.join(tmpdir(), 'sublet-cli-')));
  }

  run(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    const { child, ended } = this.start(args, options);
    child.stdin?.end(options.input ?? '');
    return ended;
  }

  /** Standard output of a run that must succeed, without its last line break. */
  async output(args: readonly string[], options: CliOptions = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(args, options);
    if (status !== 0) throw new Error(`sublet ${args.join(' ')} ended with ${status}:\n${stderr}`);
    return stdout.replace(/\n$/, '');
  }

  async json<T = Record<string, unknown>>(args: readonly string[], options: CliOptions = {}): Promise<readonly T[]> {
    const text = await this.output(args, options);
    return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as T);
  }

  /** Standard input stays open until the caller ends it. */
  start(args: readonly string[], options: CliOptions = {}, spawnOptions: SpawnOptions = {}): CliProcess {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: options.cwd ?? this.files,
      env: this.env(options.env),
      stdio: 'pipe',
      // One that hangs is not to be there when its test has long failed.
      timeout: 120_000,
      killSignal: 'SIGKILL',
      ...spawnOptions,
    });
    return follow(child);
  }

  env(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
    return { PATH: process.env['PATH'], HOME: this.files, SUBLET_HOME: this.home, LANG: 'C.UTF-8', ...extra };
  }

  /** Destroys what is left, and says so when something is: a test must clean up what it makes. */
  async remove(): Promise<void> {
    const left = (await this.run(['ls', '--quiet'])).stdout.split('\n').filter((id) => id !== '');
    if (left.length > 0) await this.run(['rm', '--yes', ...left]);
    await rm(this.#root, { recursive: true, force: true });
  }
}

function follow(child: ChildProcess): CliProcess {
  let stdout = '';
  let stderr = '';
  const watchers = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
    for (const check of watchers) check();
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  // A command that does not read its input may be over before all of it is written.
  child.stdin?.on('error', () => undefined);
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ status: code ?? (signal === null ? null : 128), stdout, stderr }));
  });
  const waitFor = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (!stdout.includes(text)) return;
        watchers.delete(check);
        resolve();
      };
      watchers.add(check);
      check();
      void ended.then(() => reject(new Error(`ended without "${text}":\n${stdout}\n${stderr}`)));
    });
  return { child, ended, waitFor };
}
