/** The in-process engine: the manager's interface over a store and providers. */
import type {
  AgentHandle,
  CodeLanguage,
  EphemeralRunOptions,
  Lease,
  LeaseOptions,
  ManagerMetrics,
  ReapOptions,
  ReapReport,
  SandboxOptions,
  SandboxSet,
  SandboxSetOptions,
  Sandboxes,
  Session,
  SessionOptions,
  Sublet,
  SweepReport,
} from '../core/api.ts';
import type { Command, CommandResult } from '../core/commands.ts';
import type { EventFilter, SubletEvent } from '../core/events.ts';
import type { OwnerId, SandboxId } from '../core/ids.ts';
import type { PoolLeaseOptions } from '../core/pools.ts';
import { flushActivity } from './activity.ts';
import * as rules from './call-rules.ts';
import { checkCall } from './check-call.ts';
import { extendDeadMen } from './extend-dead-men.ts';
import { closeManager } from './close-manager.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import { Engine, describe } from './engine.ts';
import { runCodeOnce, runOnce, withEphemeral } from './ephemeral.ts';
import { leaseSandbox } from './lease-sandbox.ts';
import { readMetrics } from './manager-metrics.ts';
import type { ManagerOptions } from './manager-options.ts';
import { toManagerConfig } from './manager-options.ts';
import { PoolManagement } from './pools/pool-management.ts';
import type { ManagerPorts } from './ports.ts';
import { prune } from './prune.ts';
import { Reaper } from './reaper.ts';
import { repeat } from './repeat.ts';
import { SandboxManagement } from './sandboxes.ts';
import { SessionSet } from './session-set.ts';
import { Sessions } from './sessions.ts';

/** The engine as its own process sees it: with what it holds, for a last word on the way out. */
export interface Manager extends Sublet {
  /** Sandboxes this process has in its hands now. */
  held(): readonly SandboxId[];
  /** Sees to what one process left, if it is dead. False while it lives or may live, or something could not be done. */
  recoverOwner(ownerId: OwnerId): Promise<boolean>;
}

const PRUNE_EVERY_MS = 60 * 60_000;
const DESTROY_AT_ONCE = 16;

/** Writes nothing until something is to be changed, so that reading alone leaves no trace. */
export async function createManager(ports: ManagerPorts, options: ManagerOptions = {}): Promise<Manager> {
  return new InProcessManager(new Engine(ports, toManagerConfig(options)));
}

class InProcessManager implements Manager {
  readonly sandboxes: Sandboxes;
  readonly pools: PoolManagement;
  readonly #engine: Engine;
  readonly #sessions: Sessions;
  readonly #reaper: Reaper;
  readonly #timers: readonly (() => void)[];
  #prunedAt: number;
  #closed: Promise<void> | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#sessions = new Sessions(engine);
    this.#reaper = new Reaper(engine);
    engine.onRegistered = () => engine.inBackground('recovery failed', this.#reaper.recoverDead());
    this.sandboxes = new SandboxManagement(engine);
    this.pools = new PoolManagement(engine);
    this.#prunedAt = engine.now();
    const { clock } = engine.ports;
    this.#timers = [
      // Not waited for: a provider that hangs must not keep the others from being swept.
      repeat(clock, engine.config.sweepIntervalMs, async () => void this.#sweepAndPrune()),
      repeat(clock, engine.config.heartbeatIntervalMs, () => this.#logged('heartbeat failed', () => engine.beat())),
      repeat(clock, engine.config.touchIntervalMs, () => this.#flush()),
    ];
  }

  async run(command: Command, options: EphemeralRunOptions = {}): Promise<CommandResult> {
    checkCall('run', options, rules.EPHEMERAL_RUN, ['command', rules.command(command)]);
    return runOnce(this.#engine, command, options);
  }

  async runCode(language: CodeLanguage, code: string, options: EphemeralRunOptions = {}): Promise<CommandResult> {
    checkCall(
      'runCode',
      options,
      rules.EPHEMERAL_RUN,
      ['language', rules.language(language)],
      ['code', rules.code(code)],
    );
    return runCodeOnce(this.#engine, language, code, options);
  }

  async ephemeral<T>(options: SandboxOptions, use: (sandbox: AgentHandle) => Promise<T>): Promise<T> {
    checkCall('ephemeral', options, rules.SANDBOX, ['use', rules.body(use)]);
    return withEphemeral(this.#engine, options, use);
  }

  async session(options: SessionOptions = {}): Promise<Session> {
    checkCall('session', options, rules.SESSION);
    return this.#sessions.session(options);
  }

  sandboxSet(options: SandboxSetOptions): SandboxSet {
    checkCall('sandboxSet', options, rules.SET);
    return new SessionSet(this.#engine, (asked) => this.#sessions.session(asked), options);
  }

  /** The keys stay known, with their network levels: the next use of one gets a fresh sandbox and a notice. */
  async destroyAllSessions(cause = 'all sessions destroyed'): Promise<number> {
    const engine = this.#engine;
    engine.assertOpen();
    const bound = await engine.ports.store.listSessions(Number.MAX_SAFE_INTEGER);
    const due = bound.filter(({ sandbox }) => sandbox.state !== 'destroyed');
    let count = 0;
    for (let from = 0; from < due.length; from += DESTROY_AT_ONCE) {
      const batch = due
        .slice(from, from + DESTROY_AT_ONCE)
        .map(({ sandbox }) => destroySandbox(engine, sandbox, cause).catch(() => undefined));
      count += (await Promise.all(batch)).filter((destroyed) => destroyed !== undefined).length;
    }
    return count;
  }

  events(filter: EventFilter = {}): Promise<readonly SubletEvent[]> {
    return this.#engine.ports.store.listEvents(filter);
  }

  metrics(): Promise<ManagerMetrics> {
    return readMetrics(this.#engine);
  }

  sweep(): Promise<SweepReport> {
    const sweeping = this.#reaper.sweep();
    this.#engine.inBackground('sweep failed', sweeping);
    return sweeping;
  }

  async reap(options: ReapOptions = {}): Promise<ReapReport> {
    checkCall('reap', options, rules.REAP);
    this.#engine.assertOpen();
    const reaping = this.#reaper.reap(options);
    this.#engine.inBackground(
      'reap failed',
      reaping.catch(() => {}),
    );
    return reaping;
  }

  async lease(what: string | LeaseOptions, options: PoolLeaseOptions = {}): Promise<Lease> {
    if (typeof what === 'string') {
      checkCall('lease', options, rules.POOL_LEASE);
      return this.pools.lease(what, options);
    }
    checkCall('lease', what, rules.LEASE);
    return leaseSandbox(this.#engine, what);
  }

  recoverOwner(ownerId: OwnerId): Promise<boolean> {
    return this.#reaper.recoverOwner(ownerId);
  }

  held(): readonly SandboxId[] {
    return [...this.#engine.lives.keys()];
  }

  close(): Promise<void> {
    this.#closed ??= this.#closeOnce();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeOnce(): Promise<void> {
    for (const stop of this.#timers) stop();
    this.#engine.beginClosing();
    await this.pools.leave();
    return closeManager(this.#engine);
  }

  async #flush(): Promise<void> {
    this.#sessions.forgetGone();
    await this.#logged('activity not written', () => flushActivity(this.#engine));
    // Not waited for: a provider that hangs must not keep activity from being written.
    this.#engine.inBackground('deadlines not moved on', extendDeadMen(this.#engine));
  }

  async #sweepAndPrune(): Promise<void> {
    await this.sweep();
    const now = this.#engine.now();
    if (now - this.#prunedAt < PRUNE_EVERY_MS) return;
    this.#prunedAt = now;
    await this.#logged('old rows not pruned', () => prune(this.#engine));
  }

  async #logged(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      this.#engine.ports.log.warn({ error: describe(cause) }, what);
    }
  }
}
