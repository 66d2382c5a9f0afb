/** A Docker engine of a test's own, to be stopped, frozen and filled up. Everything of it is in one directory. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** An engine that hangs with a container would keep a test waiting for ever. */
const ANSWER_MS = 60_000;
const END_MS = 30_000;

export interface PrivateEngineOptions {
  /** More words for dockerd. */
  readonly words?: readonly string[];
  /** Puts a file system of its own where the engine keeps its data; it is taken away at the end. */
  readonly mountData?: (dataRoot: string, dir: string) => Promise<void>;
}

export interface PrivateEngine extends AsyncDisposable {
  readonly host: string;
  readonly image: string;
  readonly dir: string;
  readonly dataRoot: string;
  /** Of dockerd itself. */
  readonly pid: number;
  /** What the engine's own program prints. */
  docker(...words: readonly string[]): Promise<string>;
  /** Containers, volumes and networks that the engine did not have by itself. */
  remains(): Promise<readonly string[]>;
  /** Ends it and starts it again, on the same data. */
  restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  freeze(): void;
  thaw(): void;
}

export async function startPrivateEngine(options: PrivateEngineOptions = {}): Promise<PrivateEngine> {
  const dir = await mkdtemp(path.join(tmpdir(), 'eng-'));
  const engine = new Engine(dir, options);
  try {
    await mkdir(engine.dataRoot);
    await options.mountData?.(engine.dataRoot, dir);
    await engine.start();
    await engine.importImage();
    return engine;
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    throw error;
  }
}

const IMAGE_SCRIPT = `
mkdir -p "$1/bin" "$1/tmp" "$1/workspace" && chmod 1777 "$1/tmp"
cp "$(command -v busybox)" "$1/bin/busybox"
for name in $("$1/bin/busybox" --list); do [ -e "$1/bin/$name" ] || ln -s busybox "$1/bin/$name"; done
tar --create --directory "$1" . | docker --host "$2" import - "$3"
rm -rf "$1"
`;

class Engine implements PrivateEngine {
  readonly image = 'sublet-test:private';
  readonly dir: string;
  readonly dataRoot: string;
  readonly host: string;
  readonly #words: readonly string[];
  readonly #group: string;
  #process: ChildProcess | undefined;

  constructor(dir: string, { words = [] }: PrivateEngineOptions) {
    this.dir = dir;
    this.dataRoot = path.join(dir, 'data');
    this.host = `unix://${dir}/engine.sock`;
    this.#group = `sublet-${path.basename(dir)}`;
    this.#words = [
      ...['--host', this.host, '--data-root', this.dataRoot, '--exec-root', path.join(dir, 'run')],
      ...['--pidfile', path.join(dir, 'pid'), '--cgroup-parent', `/${this.#group}`],
      // It changes nothing of this machine's network, and has none to give.
      ...['--bridge=none', '--iptables=false', '--ip-forward=false', '--ip-masq=false', ...words],
    ];
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async start(): Promise<void> {
    await rm(path.join(this.dir, 'pid'), { force: true });
    const log = await open(path.join(this.dir, 'log'), 'a');
    const started = spawn('dockerd', this.#words, { stdio: ['ignore', log.fd, log.fd] });
    this.#process = started;
    await log.close();
    while (!(await this.docker('version').catch(() => ''))) {
      if (started.exitCode !== null || started.signalCode !== null)
        throw new Error(`dockerd: ${await this.#lastWords()}`);
      await delay(100);
    }
  }

  async importImage(): Promise<void> {
    await run('sh', ['-c', IMAGE_SCRIPT, 'sh', path.join(this.dir, 'image'), this.host, this.image]);
  }

  async docker(...words: readonly string[]): Promise<string> {
    return (await run('docker', ['--host', this.host, ...words], { timeout: ANSWER_MS })).stdout.trim();
  }

  async remains(): Promise<readonly string[]> {
    const asked = [
      ['ps', '--all', '--format', 'container {{.Names}}'],
      ['volume', 'ls', '--format', 'volume {{.Name}}'],
      ['network', 'ls', '--filter', 'type=custom', '--format', 'network {{.Name}}'],
    ];
    const answers = await Promise.all(asked.map((words) => this.docker(...words)));
    return answers.flatMap((answer) => answer.split('\n')).filter((line) => line !== '');
  }

  async restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#end(signal);
    await this.#endContainerd();
    await this.start();
  }

  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process?.exitCode === null && this.#process.signalCode === null) {
      this.thaw();
      await run('sh', ['-c', THAW_SCRIPT, 'sh', this.#group]);
      const left = (await this.docker('ps', '--all', '--quiet').catch(() => '')).split('\n').filter((id) => id !== '');
      if (left.length > 0) await this.docker('rm', '--force', ...left).catch(() => '');
      await this.#end('SIGTERM');
    }
    await this.#endContainerd();
    await run('sh', ['-c', CLEAN_SCRIPT, 'sh', this.dir, this.#group]);
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const ended = this.#process;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    const isOver = once(ended, 'exit');
    ended.kill(signal);
    const force = setTimeout(() => ended.kill('SIGKILL'), END_MS);
    await isOver;
    clearTimeout(force);
  }

  /** The engine's helper, of an engine that was killed. Where nobody collects orphans the next engine would take it for alive. */
  async #endContainerd(): Promise<void> {
    const file = path.join(this.dir, 'run/containerd/containerd.pid');
    const pid = Number(await readFile(file, 'utf8').catch(() => ''));
    await rm(file, { force: true });
    const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (pid > 1 && words.includes(this.dir)) process.kill(pid, 'SIGKILL');
  }

  async #lastWords(): Promise<string> {
    return (await readFile(path.join(this.dir, 'log'), 'utf8')).split('\n').slice(-8).join('\n');
  }
}

// What is frozen neither ends nor lets its engine go on; a container that is to be removed need not sleep.
const THAW_SCRIPT = `
find /sys/fs/cgroup -path "*/$1*" -name freezer.state | while read -r file; do echo THAWED >"$file"; done
find /sys/fs/cgroup -path "*/$1*" -name cgroup.freeze | while read -r file; do echo 0 >"$file"; done
exit 0
`;

// Mounts deepest first; groups likewise.
const CLEAN_SCRIPT = `
cut -d ' ' -f 5 /proc/self/mountinfo | { grep "^$1/" || true; } | sort --reverse | while read -r path; do umount --lazy "$path"; done
find /sys/fs/cgroup -depth -type d -path "*/$2*" -exec rmdir {} + 2>/dev/null
exit 0
`;
