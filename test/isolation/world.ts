/** A real namespace provider over a directory of its own, and the host as a test sees it. Everything made is gone afterwards. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdtemp, open as openFile, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach } from 'vitest';
import type { CommandResult } from '../../src/core/commands.ts';
import type { ProviderContext } from '../../src/provider/define-provider.ts';
import type { SandboxHandle, SandboxProvider, SandboxSpec } from '../../src/provider/provider.ts';
import { provider as module } from '../../src/providers/namespace/index.ts';
import { readRecord, type SandboxRecord } from '../../src/providers/namespace/sandbox-record.ts';
import { requirement } from '../setup/requirements.ts';
import { systemClock } from '../../src/core/system-clock.ts';

export const isRoot: boolean = process.getuid?.() === 0;
export const signal: AbortSignal = new AbortController().signal;

export const canRun: boolean = await requirement('namespace', async () => {
  const probe = await module.probe(contextOf(tmpdir()));
  return probe.usable ? undefined : (probe.findings.find((finding) => finding.level === 'fail')?.message ?? 'unusable');
});

/** A manager in a process of its own. */
export interface ManagerProcess {
  readonly child: ChildProcess;
  readonly name: string;
  /** What its sandbox's command said. */
  readonly output: string;
}

export interface World {
  readonly stateDir: string;
  readonly provider: SandboxProvider;
  /** As another process would have it. */
  open(): Promise<SandboxProvider>;
  create(overrides?: Partial<SandboxSpec>): Promise<SandboxHandle>;
  /** A directory on the host, removed afterwards. */
  directory(parent?: string): Promise<string>;
  record(sandbox: SandboxHandle): Promise<SandboxRecord>;
  /** Tells which host processes are in the PID namespace of this one, also when it has ended. */
  processesBeside(pid: number | undefined): Promise<() => Promise<readonly string[]>>;
  /** A process on the host, ended afterwards. */
  spawn(command: readonly string[], options?: Parameters<typeof spawn>[2]): ChildProcess;
  /** Starts a manager that makes a sandbox, runs `command` in it and then waits. `prefix` is put before its line. */
  manager(
    spec: Partial<SandboxSpec>,
    command: string,
    options?: { prefix?: readonly string[]; stdio?: number },
  ): Promise<ManagerProcess>;
}

/** One for each test file. Sandboxes and processes end with their test. */
export async function openWorld(): Promise<World> {
  const stateDir = await mkdtemp(join(tmpdir(), 'sublet-isolation-'));
  const providers: SandboxProvider[] = [];
  const open = async (): Promise<SandboxProvider> => {
    const opened = await module.open(contextOf(stateDir));
    providers.push(opened);
    return opened;
  };
  const provider = await open();
  const names = new Set<string>();
  const directories: string[] = [];
  const handles: FileHandle[] = [];
  const children = new Set<ChildProcess>();
  const specOf = (overrides: Partial<SandboxSpec>): SandboxSpec => {
    const name = `iso-${randomUUID()}`;
    const spec: SandboxSpec = { name, labels: {}, kind: 'execution', network: 'none', ephemeral: true, ...overrides };
    names.add(spec.name);
    return spec;
  };
  const start: World['spawn'] = ([program = '', ...args], options = {}) => {
    const child = spawn(program, args, options);
    children.add(child);
    return child;
  };

  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    children.clear();
    for (const name of names) await provider.destroy({ name }, signal);
    names.clear();
    for (const handle of handles.splice(0)) await handle.close();
    for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
  });
  afterAll(async () => {
    for (const each of providers) await each.close();
    // Pipes may still be on their way into stock.
    await rm(stateDir, { recursive: true, force: true, maxRetries: 5 });
  });

  return {
    stateDir,
    provider,
    open,
    create: (overrides = {}) => provider.create(specOf(overrides), signal),
    async directory(parent = tmpdir()) {
      const made = await mkdtemp(join(parent, 'sublet-host-'));
      directories.push(made);
      return made;
    },
    async record(sandbox) {
      const record = await readRecord(stateDir, sandbox.ref.name);
      if (record === undefined) throw new Error(`no record of ${sandbox.ref.name}`);
      return record;
    },
    async processesBeside(pid) {
      // Held open, or the kernel gives its number to the next namespace.
      const handle = await openFile(`/proc/${pid}/ns/pid`, 'r');
      handles.push(handle);
      const namespace = await readlink(`/proc/${pid}/ns/pid`);
      return () => processesIn(namespace);
    },
    spawn: start,
    async manager(overrides, command, { prefix = [], stdio } = {}) {
      const spec = specOf(overrides);
      const program = join(import.meta.dirname, 'manager-process.ts');
      const line = [...prefix, process.execPath, '--import', 'tsx', program, stateDir, JSON.stringify(spec), command];
      const descriptors = ['ignore', 'pipe', 'inherit', ...(stdio === undefined ? [] : [stdio])] as const;
      const child = start(line, { stdio: [...descriptors] });
      const [output] = (await firstLine(child)).map((text) => JSON.parse(text) as string);
      return { child, name: spec.name, output: output ?? '' };
    },
  };
}

export function contextOf(stateDir: string): ProviderContext {
  const log = { debug() {}, info() {}, warn() {} };
  return { stateDir, clock: systemClock, log, options: {}, secret: () => undefined };
}

export function sh(sandbox: SandboxHandle, script: string): Promise<CommandResult> {
  return sandbox.commands.run(script, { timeoutMs: 30_000 });
}

export { until } from './until.ts';

async function processesIn(pidNamespace: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  const each = await Promise.all(
    pids.map(async (pid) => ((await readlink(`/proc/${pid}/ns/pid`).catch(() => '')) === pidNamespace ? pid : '')),
  );
  return each.filter((pid) => pid !== '');
}

export async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/\) [ZX] /u.test(stat);
}

async function firstLine(child: ChildProcess): Promise<readonly string[]> {
  if (child.stdout === null) throw new Error('The manager has no output.');
  for await (const line of createInterface({ input: child.stdout })) return [line];
  throw new Error('The manager ended before its sandbox was ready.');
}
