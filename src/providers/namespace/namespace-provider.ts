/** Sandboxes of Linux namespaces on this machine. */
import { resolve } from 'node:path';
import { throwIfAborted } from '../../core/errors.ts';
import { isAtLeastAsTight, type NetworkLevel } from '../../core/network.ts';
import type { Labels, SandboxMetrics } from '../../core/spec.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import { ownTurn } from '../../provider/posix/own-turn.ts';
import { createShellFiles } from '../../provider/posix/shell-files.ts';
import type {
  AttachOptions,
  ExpectedSandbox,
  ListedSandbox,
  ProviderState,
  ResetReport,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSpec,
} from '../../provider/provider.ts';
import { beginToEnd, endSandbox } from './end-sandbox.ts';
import { everyRecord } from './every-record.ts';
import { freeze, thaw } from './freezer.ts';
import { sandboxPaths, WORKDIR } from './layout.ts';
import { HeldSandboxes, ownRecord } from './held-sandboxes.ts';
import { madeByOther, MAKING } from './making.ts';
import { CAPABILITIES, uplinkOption } from './namespace-config.ts';
import {
  createError,
  lostError,
  noAllowlistError,
  noStopError,
  notFoundError,
  weakerNetworkError,
} from './namespace-errors.ts';
import { PipeStock } from './pipe-stock.ts';
import { currentPrivileges, type Privileges } from './privileges.ts';
import { identifySelf } from './process-identity.ts';
import { removeRemains } from './remains.ts';
import { noteFresh, resetSandbox } from './reset-sandbox.ts';
import { beginToClear, removeSmall, removeTree } from './remove-tree.ts';
import { newRecord, NOT_STARTED, readRecord, reserve, type SandboxRecord, writeRecord } from './sandbox-record.ts';
import { withLock } from './sandbox-lock.ts';
import { SandboxStarter } from './sandbox-starter.ts';
import { isUp, stateOf } from './sandbox-state.ts';
import { become, isPlain } from './spare.ts';
import { cutOff } from './uplink.ts';
import { usageOf } from './usage.ts';

export class NamespaceProvider implements SandboxProvider {
  readonly id = 'namespace';
  readonly capabilities: ReadonlySet<Capability> = new Set(CAPABILITIES);
  readonly boundToHost = 'home';
  readonly #context: ProviderContext;
  readonly #stateDir: string;
  readonly #privileges: Privileges = currentPrivileges();
  readonly #stock: PipeStock;
  readonly #starter: SandboxStarter;
  readonly #held: HeldSandboxes;

  constructor(context: ProviderContext) {
    this.#context = context;
    this.#stateDir = resolve(context.stateDir);
    this.#stock = new PipeStock(this.#stateDir);
    this.#starter = new SandboxStarter({
      stateDir: this.#stateDir,
      privileges: this.#privileges,
      stock: this.#stock,
      clock: context.clock,
      uplink: uplinkOption(context.options),
    });
    this.#held = new HeldSandboxes({
      stateDir: this.#stateDir,
      privileges: this.#privileges,
      stock: this.#stock,
      clock: context.clock,
    });
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    throwIfAborted(signal);
    if (spec.network === 'allowlist') throw noAllowlistError();
    if (!reserve(this.#stateDir, spec.name)) return this.#createAgain(spec, signal);
    MAKING.add(sandboxPaths(this.#stateDir, spec.name).dir);
    try {
      await ownTurn();
      const record = newRecord(spec, identifySelf(), this.#context.clock.now());
      const made = (await this.#fromSpare(record, spec)) ?? (await this.#fromNothing(record, spec, signal));
      this.#starter.refill(isPlain(spec));
      return this.#handle(made, 'running');
    } catch (cause) {
      await this.destroy({ name: spec.name }, AbortSignal.timeout(10_000)).catch((error: unknown) => {
        this.#context.log.warn(
          { name: spec.name, error: String(error) },
          'remains of a failed create could not be removed',
        );
      });
      throw createError(cause, signal, this.#privileges);
    } finally {
      MAKING.delete(sandboxPaths(this.#stateDir, spec.name).dir);
    }
  }

  warm(expected: ExpectedSandbox): Promise<void> {
    return this.#starter.warm(isPlain(expected));
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    throwIfAborted(signal);
    const record = await readRecord(this.#stateDir, ref.name);
    if (record === undefined) return undefined;
    if (options.env !== undefined) this.#held.commandsOf(record).setEnv(options.env);
    return this.#handle(record, await stateOf(record, (await this.#starter.host()).cgroups));
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    const held = this.#held.get(ref.name);
    const paths = sandboxPaths(this.#stateDir, ref.name);
    // What they cannot reach goes while its processes do; the record stays until they have gone.
    const clearing = beginToEnd(held?.setup, held?.record.init) ? beginToClear(paths) : undefined;
    await this.#held.letGo(ref.name);
    const end = async (): Promise<void> => {
      const record = ownRecord(held) ?? (await readRecord(this.#stateDir, ref.name));
      if (record !== undefined) await endSandbox(record, (await this.#starter.host()).cgroups, held?.setup);
      await clearing;
      await ownTurn();
      if (!removeSmall(paths.dir)) await removeTree(paths.dir);
    };
    // Nobody but its maker moves an ephemeral one.
    await (held?.record.ephemeral === true ? end() : this.#alone(ref, signal, end));
  }

  /** Whoever takes stock also removes what killed processes left that never became a sandbox. */
  async *list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    const { cgroups } = await this.#starter.host();
    await removeRemains(this.#stateDir, cgroups);
    for await (const record of everyRecord(this.#stateDir, this.#context.log)) {
      throwIfAborted(signal);
      const { name, labels, createdAt } = record;
      if (!Object.entries(filter).every(([key, value]) => labels[key] === value)) continue;
      yield { ref: { name }, labels, state: await stateOf(record, cgroups), createdAt };
    }
  }

  pause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    return this.#alone(ref, signal, async () => {
      const record = await this.#running(ref);
      // Waiting shells are not the agent's; frozen, they would wait for a manager that may be gone by then.
      await this.#held.get(ref.name)?.commands.close();
      await freeze((await this.#starter.host()).cgroups, record);
    });
  }

  resume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    return this.#alone(ref, signal, async () => thaw((await this.#starter.host()).cgroups, await this.#running(ref)));
  }

  stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    return this.#alone(ref, signal, async () => {
      const record = await this.#known(ref);
      if (record.limits.diskBytes !== undefined) throw noStopError();
      await this.#end(record);
      writeRecord(this.#stateDir, { ...record, ...NOT_STARTED, maker: undefined });
    });
  }

  start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    return this.#alone(ref, signal, async () => {
      const record = await this.#known(ref);
      // It may be up and frozen: whoever was to stop it was killed, and the record said that it was done.
      if (await isUp(record)) return thaw((await this.#starter.host()).cgroups, record);
      await this.#end(record);
      await this.#startAgain(record, options, signal);
    });
  }

  setNetwork(ref: SandboxRef, level: NetworkLevel, signal: AbortSignal): Promise<void> {
    return this.#alone(ref, signal, async () => {
      const record = await this.#known(ref);
      if (level === record.network) return;
      if (!isAtLeastAsTight(level, record.network)) throw weakerNetworkError(ref.name, record.network, level);
      if (level === 'allowlist') throw noAllowlistError();
      await cutOff(record);
      const tightenedFrom = record.tightenedFrom ?? record.network;
      writeRecord(this.#stateDir, { ...record, network: level, tightenedFrom, uplink: undefined });
    });
  }

  reset(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<ResetReport> {
    return this.#alone(ref, signal, async () => {
      const record = await this.#known(ref);
      return resetSandbox(record, sandboxPaths(this.#stateDir, ref.name), {
        end: () => this.#end(record),
        start: () => this.#startAgain(record, options, signal),
      });
    });
  }

  async metrics(ref: SandboxRef): Promise<SandboxMetrics> {
    return usageOf(await this.#known(ref), sandboxPaths(this.#stateDir, ref.name).disk);
  }

  async close(): Promise<void> {
    await this.#starter.close();
    await this.#held.letAllGo();
    await this.#stock.settled();
  }

  async #end(record: SandboxRecord): Promise<void> {
    const setup = this.#held.get(record.name)?.setup;
    const commands = this.#held.commandsOf(record);
    await this.#held.letGo(record.name);
    await endSandbox(record, (await this.#starter.host()).cgroups, setup);
    await commands.end();
  }

  async #startAgain(record: SandboxRecord, options: AttachOptions, signal: AbortSignal): Promise<SandboxRecord> {
    const again = { ...record, ...NOT_STARTED, maker: identifySelf() };
    return this.#start(again, options, signal);
  }

  #alone<T>({ name }: SandboxRef, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return withLock(sandboxPaths(this.#stateDir, name).dir, this.#context.clock, signal, work);
  }

  /** Same name, same sandbox: waits for whoever is making it. One whose making was cut short is made anew. */
  async #createAgain(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    const ref = { name: spec.name };
    const record = await madeByOther(this.#stateDir, spec.name, this.#context.clock, signal);
    // Only a first making is on record before its first process; what was stopped has neither process nor maker.
    if (record === undefined || (record.init === undefined && record.maker !== undefined)) {
      await this.destroy(ref, signal);
      return this.create(spec, signal);
    }
    if (!(await isUp(record))) await this.start(ref, signal, { env: spec.env });
    return (await this.attach(ref, signal, { env: spec.env })) ?? Promise.reject(lostError(spec.name));
  }

  /** undefined when none is there to be taken. */
  async #fromSpare(record: SandboxRecord, spec: SandboxSpec): Promise<SandboxRecord | undefined> {
    const spare = isPlain(spec) ? await this.#starter.takeSpare() : undefined;
    if (spare === undefined) return undefined;
    const named = await become(spare, record, sandboxPaths(this.#stateDir, record.name));
    this.#held.hold(named.record, spec.env ?? {}, named);
    return named.record;
  }

  async #fromNothing(record: SandboxRecord, spec: SandboxSpec, signal: AbortSignal): Promise<SandboxRecord> {
    writeRecord(this.#stateDir, record);
    return this.#start(record, spec, signal, true);
  }

  async #start(
    record: SandboxRecord,
    wanted: Pick<SandboxSpec, 'env' | 'onProgress' | 'expectsOneCommand'>,
    signal: AbortSignal,
    isFresh = false,
  ): Promise<SandboxRecord> {
    const owned = wanted.expectsOneCommand === true ? 'once' : 'owned';
    const life = record.ephemeral ? owned : 'free';
    const started = await this.#starter.start(record, life, wanted.onProgress ?? (() => undefined), signal);
    const made = { ...started.record, maker: undefined };
    // Nobody but its maker has use for an ephemeral one, so nobody waits to be told, and nobody else will have it.
    if (!record.ephemeral) {
      writeRecord(this.#stateDir, made);
      if (isFresh) await noteFresh(sandboxPaths(this.#stateDir, made.name), made.init?.pid);
    }
    this.#held.hold(made, wanted.env ?? {}, started);
    return made;
  }

  #handle(record: SandboxRecord, state: ProviderState): SandboxHandle {
    const commands = this.#held.commandsOf(record);
    return {
      ref: { name: record.name },
      state,
      network: record.network,
      workdir: WORKDIR,
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), WORKDIR),
      close: () => commands.close(),
      retire: () => this.#held.retire(record.name),
    };
  }

  async #known(ref: SandboxRef): Promise<SandboxRecord> {
    return (await readRecord(this.#stateDir, ref.name)) ?? Promise.reject(notFoundError(ref.name));
  }

  async #running(ref: SandboxRef): Promise<SandboxRecord> {
    const record = await this.#known(ref);
    if (!(await isUp(record))) throw lostError(ref.name);
    return record;
  }
}
