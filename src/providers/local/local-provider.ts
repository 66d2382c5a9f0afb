/** The bare host as a provider: directories instead of sandboxes. For people who ask for it by name. */
import { join } from 'node:path';
import { abortedError } from '../../core/errors.ts';
import type { Labels } from '../../core/spec.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import { FifoPool, removeAbandonedPools } from '../../provider/posix/fifo-pool.ts';
import { killTagged } from '../../provider/posix/process-tree.ts';
import { createShellFiles } from '../../provider/posix/shell-files.ts';
import type {
  AttachOptions,
  ListedSandbox,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSpec,
} from '../../provider/provider.ts';
import { LocalCommands } from './local-commands.ts';
import { type LocalPaths, sandboxPaths } from './local-config.ts';
import { assertPossible, lostError, toLocalError } from './local-errors.ts';
import { type LocalRecord, makeSandbox, readRecord, removeSandbox, sandboxNames } from './local-record.ts';

export const LOCAL_CAPABILITIES: readonly Capability[] = ['labels', 'background', 'pty', 'volumes', 'network-open'];

let isWarned = false;

export class LocalProvider implements SandboxProvider {
  readonly id = 'local';
  readonly capabilities: ReadonlySet<Capability> = new Set(LOCAL_CAPABILITIES);
  readonly boundToHost = 'home';
  readonly #context: ProviderContext;
  readonly #pipes: FifoPool;

  constructor(context: ProviderContext) {
    this.#context = context;
    this.#pipes = new FifoPool(join(context.stateDir, 'pipes'));
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    if (signal.aborted) throw abortedError(signal);
    assertPossible(spec);
    this.#warnOnce();
    const paths = this.#paths(spec);
    try {
      const isNew = await makeSandbox(this.#context.stateDir, paths, spec, this.#context.clock.now());
      if (signal.aborted) {
        if (isNew) await removeSandbox(this.#context.stateDir, paths);
        throw abortedError(signal);
      }
      const record = await readRecord(paths);
      if (record === undefined) throw lostError(spec.name);
      return this.#handle(record, paths, spec.env);
    } catch (error) {
      throw toLocalError(error, signal);
    }
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    if (signal.aborted) throw abortedError(signal);
    const paths = this.#paths(ref);
    try {
      const record = await readRecord(paths);
      return record === undefined ? undefined : this.#handle(record, paths, options.env);
    } catch (error) {
      throw toLocalError(error, signal);
    }
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw abortedError(signal);
    const paths = this.#paths(ref);
    try {
      const record = await readRecord(paths);
      if (record !== undefined) await killTagged({ group: record.tagGroup });
      await removeSandbox(this.#context.stateDir, paths);
    } catch (error) {
      throw toLocalError(error, signal);
    }
  }

  async *list(filter: Labels, signal: AbortSignal): AsyncGenerator<ListedSandbox> {
    await removeAbandonedPools(join(this.#context.stateDir, 'pipes'));
    for (const name of await sandboxNames(this.#context.stateDir)) {
      if (signal.aborted) throw abortedError(signal);
      const record = await readRecord(this.#paths({ name }));
      if (record === undefined || !hasLabels(record.labels, filter)) continue;
      yield { ref: { name }, labels: record.labels, state: 'running', createdAt: record.createdAt };
    }
  }

  close(): Promise<void> {
    return this.#pipes.close();
  }

  #handle(record: LocalRecord, paths: LocalPaths, env: SandboxSpec['env']): SandboxHandle {
    const { clock } = this.#context;
    const commands = new LocalCommands({ record, paths, env: env ?? {}, clock, pipes: this.#pipes });
    return {
      ref: { name: record.name },
      state: 'running',
      network: 'open',
      workdir: record.workdir,
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), record.workdir),
      close: () => Promise.resolve(),
    };
  }

  #paths(ref: SandboxRef): LocalPaths {
    return sandboxPaths(this.#context.stateDir, ref.name);
  }

  #warnOnce(): void {
    if (isWarned) return;
    isWarned = true;
    this.#context.log.warn({ provider: this.id }, 'The provider "local" runs on this machine without isolation');
  }
}

function hasLabels(labels: Labels, filter: Labels): boolean {
  return Object.entries(filter).every(([name, value]) => labels[name] === value);
}
