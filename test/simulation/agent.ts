/** What callers do: run things, hold conversations, cut networks, put sandboxes away by hand, give up half-way. */
import type { Session, SessionOptions } from '../../src/core/api.ts';
import { sleep } from '../../src/core/clock.ts';
import { SubletError } from '../../src/core/errors.ts';
import type { LifecyclePolicy } from '../../src/core/policy.ts';
import { sessionKey } from '../../src/core/session-key.ts';
import type { Chance } from './chance.ts';
import { commandUnderLease } from './laws/leases-fence.ts';
import type { Simulation } from './simulation.ts';
import type { RunningManager } from './start-process.ts';
import { POOL } from './start-process.ts';

/** Who does something at the same moment does it within this. */
const MOMENT_MS = 1_000;

const COMMANDS = ['true', 'true', 'sleep 0.05', 'sleep 2', 'sleep 50', 'sleep 130'];

export class Agent {
  readonly #simulation: Simulation;
  readonly #at: RunningManager;
  readonly #chance: Chance;

  constructor(simulation: Simulation, at: RunningManager) {
    this.#simulation = simulation;
    this.#at = at;
    this.#chance = at.process.chance.fork();
  }

  async work(): Promise<void> {
    for (let left = this.#chance.between(2, 5); left > 0 && !this.#simulation.isWindingDown; left--) {
      await this.#nextTurn();
      const action = this.#chance.weighted(this.#simulation.theme.actions);
      this.#note(`agent: ${action}`);
      await this.#try(action, () => this[action]());
    }
  }

  async run(): Promise<void> {
    await this.#at.manager.run(this.#command(), {
      policy: this.#policy(),
      signal: this.#signal(),
      timeoutMs: this.#chance.happens(0.2) ? 1_000 : undefined,
    });
  }

  async session(): Promise<void> {
    const { theme } = this.#simulation;
    const asked: SessionOptions = {
      user: 'u',
      task: this.#chance.pick(theme.tasks),
      sandbox: this.#sandbox(),
      network: this.#chance.pick([undefined, undefined, 'open', 'none']),
      policy: this.#policy(),
      signal: this.#signal(),
      exclusive: this.#chance.happens(theme.exclusive) ? this.#chance.pick([true, { ttlMs: 5_000 }]) : undefined,
    };
    const session = await this.#open(asked);
    for (let left = this.#chance.between(0, 3); left > 0; left--) await this.#use(session);
    if (this.#chance.happens(0.7)) await session.release();
  }

  /** From the pool, which gives or refuses in time. */
  async pooled(): Promise<void> {
    const { laws, theme } = this.#simulation;
    const ttlMs = this.#chance.pick([2_000, 5_000, 30_000]);
    const asked = laws.poolAsked(this.#at.process, (theme.pool?.waitTimeoutSeconds ?? 0) * 1_000);
    const lease = await this.#at.manager.lease(POOL, { ttlMs, signal: this.#signal() }).finally(asked);
    this.#note(`agent: has ${lease.sandboxId} of the pool with ${lease.token}`);
    for (let left = this.#chance.between(0, 3); left > 0; left--) {
      await this.#think();
      await this.#try('pooled command', async () => void (await lease.commands.run(commandUnderLease(lease.token))));
    }
    if (this.#chance.happens(0.8)) await lease.release();
  }

  async lease(): Promise<void> {
    const present = await this.#at.manager.sandboxes.list();
    if (present.length === 0) return;
    const { id } = this.#chance.pick(present);
    const lease = await this.#at.manager.lease({ sandboxId: id, ttlMs: this.#chance.pick([2_000, 5_000, 30_000]) });
    this.#note(`agent: has leased ${id} with ${lease.token}`);
    for (let left = this.#chance.between(1, 5); left > 0; left--) {
      await this.#think();
      await this.#try('leased command', async () => void (await lease.commands.run(commandUnderLease(lease.token))));
    }
    if (this.#chance.happens(0.7)) await lease.release();
  }

  async byHand(): Promise<void> {
    const { sandboxes } = this.#at.manager;
    const present = await sandboxes.list();
    if (present.length === 0) return;
    const { id } = this.#chance.pick(present);
    const verb = this.#chance.weighted({ pause: 3, resume: 3, stop: 2, destroy: 1 });
    this.#note(`agent: ${verb} ${id} by hand`);
    this.#simulation.laws.truth.license(id);
    await sandboxes[verb](id);
  }

  async sweep(): Promise<void> {
    await this.#at.manager.sweep();
  }

  async reap(): Promise<void> {
    await this.#at.manager.reap({ dryRun: this.#chance.happens(0.2) });
  }

  async destroyAll(): Promise<void> {
    for (const { sandboxId } of this.#simulation.sessions.values()) this.#simulation.laws.truth.license(sandboxId);
    await this.#at.manager.destroyAllSessions();
  }

  async #open(asked: SessionOptions): Promise<Session> {
    const key = sessionKey(asked);
    const at = this.#simulation.timeline.now;
    if (asked.network === 'none') this.#simulation.laws.truth.licenseKey(key);
    this.#note(`agent: asks for ${key}${asked.network === undefined ? '' : `, network ${asked.network}`}`);
    try {
      const session = await this.#at.manager.session(asked);
      this.#note(`agent: has ${session.sandboxId} for ${key}, ${session.created ? 'new' : 'as before'}`);
      this.#simulation.laws.sessionGiven(this.#at.process, session, { at });
      return session;
    } catch (cause) {
      if (SubletError.is(cause, 'SANDBOX_LOST')) this.#simulation.laws.lossTold(key);
      throw cause;
    }
  }

  async #use(session: Session): Promise<void> {
    await this.#think();
    const use = this.#chance.weighted(this.#simulation.theme.uses);
    await this.#try(use, async () => {
      switch (use) {
        case 'command':
          await session.commands.run(this.#commandIn(session), { signal: this.#signal() });
          return;
        case 'background':
          await session.commands.start(this.#commandIn(session));
          return;
        case 'file':
          await session.files.write('note', 'text');
          return;
        case 'markPrivate':
          await this.#markPrivate(session);
          return;
        case 'migrate':
          await this.#migrate(session);
      }
    });
  }

  async #markPrivate(session: Session): Promise<void> {
    this.#simulation.laws.truth.licenseKey(session.key);
    this.#note(`agent: marks ${session.key} private`);
    await session.markPrivate('private data');
    this.#note(`agent: ${session.key} is private`);
    this.#simulation.laws.networkPromised(session.key, 'none');
  }

  async #migrate(session: Session): Promise<void> {
    const { key, sandboxId } = session;
    this.#note(`agent: moves ${key} from ${sandboxId}`);
    this.#simulation.laws.truth.license(sandboxId);
    await session.migrate({ to: this.#chance.pick(['default', 'other']), endCommands: this.#chance.happens(0.5) });
    this.#note(`agent: ${key} is at ${session.sandboxId}`);
  }

  /** Every error is one of ours; which one does not matter here. */
  async #try(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#note(`agent: ${what} done`);
    } catch (cause) {
      this.#note(`agent: ${what} failed: ${String(cause)}`);
      if (!SubletError.is(cause) || cause.code === 'INTERNAL')
        this.#simulation.violate('errors are ours', `${this.#at.process.name}'s ${what} fails with ${String(cause)}`);
    }
  }

  #nextTurn(): Promise<void> {
    const { theme, timeline } = this.#simulation;
    if (theme.beatMs === undefined) return this.#think();
    const untilBeat = theme.beatMs - (timeline.now % theme.beatMs);
    return sleep(this.#at.process.clock, untilBeat + this.#chance.between(0, MOMENT_MS));
  }

  #think(): Promise<void> {
    const ms = this.#chance.happens(0.5)
      ? this.#chance.between(0, 40)
      : this.#chance.between(0, this.#simulation.theme.paceMs);
    return sleep(this.#at.process.clock, ms);
  }

  #command(): string {
    return this.#chance.pick(COMMANDS);
  }

  #commandIn({ lease }: Session): string {
    return lease === undefined ? this.#command() : commandUnderLease(lease.token);
  }

  /** Two profiles over one cloud: each try goes wrong in its own way. */
  #sandbox(): readonly string[] | undefined {
    const { routes } = this.#simulation.theme;
    return routes !== undefined && this.#chance.happens(routes) ? ['default', 'other'] : undefined;
  }

  #signal(): AbortSignal | undefined {
    if (!this.#chance.happens(0.1)) return undefined;
    const abort = new AbortController();
    this.#at.process.receive(this.#chance.between(0, 500), () => abort.abort());
    return abort.signal;
  }

  #policy(): Partial<LifecyclePolicy> {
    const chance = this.#chance;
    return {
      autoStopMinutes: chance.pick([0, 1, 1, 2]),
      idleAction: chance.pick(['pause', 'stop', 'destroy']),
      autoDeleteMinutes: chance.pick([0, 0, 0, 3]),
      onExit: chance.pick(['pause', 'destroy', 'keep']),
      onLost: chance.pick(['fail', 'recreate']),
      timeoutSeconds: chance.pick([2, 4]),
      healthCheck: chance.happens(0.7),
    };
  }

  #note(text: string): void {
    this.#simulation.trace.note(this.#at.process.name, () => text);
  }
}
