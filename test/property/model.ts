/** What two managers must do, as a page can say it: which sandbox a key has, and how tight its network is at least. */
import assert from 'node:assert/strict';
import type { Session } from '../../src/core/api.ts';
import { SubletError } from '../../src/core/errors.ts';
import { isAtLeastAsTight, tighter, type NetworkLevel } from '../../src/core/network.ts';
import { sessionKey } from '../../src/core/session-key.ts';
import type { Action, Key, Step, Who } from './actions.ts';
import { checkInvariants } from './invariants.ts';
import type { System } from './system.ts';

interface Known {
  /** undefined when a call failed and nobody can say. */
  readonly sandboxId: string | undefined;
  /** What became of that sandbox; a lost one may be handed out until somebody looks. */
  readonly is: 'there' | 'lost' | 'destroyed';
}

/** A pause or stop of the key failed, and may have happened all the same: who was told so, and must look before a use. */
type Doubts = Map<Key, Who>;

type Of<T extends Action['type']> = Extract<Action, { readonly type: T }>;

export class Model {
  /** Names of what the provider lost. */
  readonly lost = new Set<string>();
  hadFaults = false;
  readonly #system: System;
  readonly #known = new Map<Key, Known>();
  readonly #doubts: Doubts = new Map();
  readonly #floors = new Map<string, NetworkLevel>();

  constructor(system: System) {
    this.#system = system;
  }

  /** The tightest network that the session was ever told to have. */
  floorOf(key: string): NetworkLevel {
    return this.#floors.get(key) ?? 'open';
  }

  async take({ action, fault }: Step): Promise<void> {
    const { world } = this.#system;
    if (fault !== undefined) {
      this.hadFaults = true;
      world.plan(...fault);
    }
    try {
      await this.#do(action);
    } catch (cause) {
      // What the provider got wrong is told in Sublet's words. Without a fault or a loss everything succeeds.
      const isLost = 'key' in action && this.#known.get(action.key)?.is === 'lost';
      if ((fault === undefined && !isLost) || !SubletError.is(cause)) throw cause;
      this.#failed(action);
    }
    world.heal();
    await this.#system.quiet();
    await checkInvariants(this.#system, this);
  }

  /** Whatever was left is put away, and nothing remains anywhere. */
  async end(): Promise<void> {
    const { clock, store, world } = this.#system;
    await this.#system.until(this.#system.manager(0).destroyAllSessions());
    await this.#system.wait(30);
    await checkInvariants(this.#system, this);
    const rows = await store.findSandboxes({ limit: Infinity });
    assert.deepEqual(world.boxes, [], 'left at the provider');
    assert.deepEqual(
      rows.filter(({ state }) => state !== 'destroyed').map(({ id, state }) => `${id} ${state}`),
      [],
      'left on record',
    );
    await this.#system.close();
    assert.deepEqual(await store.listOwners(), [], 'owners left');
    assert.equal(clock.pending, 0, 'timers left');
  }

  #failed(action: Action): void {
    if (!('key' in action)) return;
    const known = this.#known.get(action.key);
    if (action.type === 'pause' || action.type === 'stop') this.#doubts.set(action.key, action.who);
    else this.#known.set(action.key, { sandboxId: undefined, is: known?.is ?? 'there' });
  }

  async #do(action: Action): Promise<void> {
    switch (action.type) {
      case 'session':
        return this.#session(action);
      case 'both':
        return this.#both(action.key);
      case 'run':
        return this.#run(action);
      case 'pause':
      case 'resume':
      case 'stop':
      case 'destroy':
        return this.#move(action);
      case 'markPrivate':
        return this.#markPrivate(action);
      case 'sweep':
        await this.#system.until(this.#system.manager(action.who).sweep());
        return undefined;
      case 'reopen':
        return this.#system.reopen(action.who);
      case 'lose':
        return this.#lose(action.key);
      case 'wait':
        return this.#system.wait(action.minutes);
    }
  }

  async #session({ who, key, network }: Of<'session'>): Promise<void> {
    const session = await this.#system.until(this.#system.manager(who).session({ task: key, network }));
    const mayFail = this.#mayFail(key, who);
    this.#check(key, session, network);
    await this.#use(key, session, mayFail);
  }

  async #both(key: Key): Promise<void> {
    const asked = ([0, 1] as const).map((who) => this.#system.manager(who).session({ task: key }));
    await this.#system.until(Promise.allSettled(asked));
    const [one, other] = await Promise.all(asked);
    if (one === undefined || other === undefined) throw new Error('not asked');
    // One of the two may have been handed what is lost, before the other found out.
    if (this.#known.get(key)?.is !== 'lost') assert.equal(one.sandboxId, other.sandboxId, `${key} has two sandboxes`);
    const mayFail = this.#mayFail(key, 0) || this.#mayFail(key, 1);
    // It is told once, to whoever found out.
    const notices = [...one.notices, ...other.notices];
    this.#check(key, one, undefined, notices);
    this.#check(key, other, undefined, notices);
    await this.#use(key, one, mayFail);
    await this.#use(key, other, mayFail);
  }

  async #run({ who }: Of<'run'>): Promise<void> {
    const { stdout, exitCode } = await this.#system.until(this.#system.manager(who).run('echo hi'));
    assert.deepEqual([stdout, exitCode], ['hi\n', 0]);
    await this.#system.quiet();
    const left = await this.#system.store.findSandboxes({ ephemeral: true, states: ['creating', 'running'] });
    assert.deepEqual(left, [], 'an ephemeral sandbox outlived its run');
  }

  async #move({ type, who, key }: Of<'pause' | 'resume' | 'stop' | 'destroy'>): Promise<void> {
    const known = this.#known.get(key);
    if (known?.sandboxId === undefined || known.is === 'destroyed') return;
    const { sandboxes } = this.#system.manager(who);
    try {
      const { state } = await this.#system.until(sandboxes[type](known.sandboxId));
      const wanted = { pause: 'paused', resume: 'running', stop: 'stopped', destroy: 'destroyed' }[type];
      assert.equal(state, wanted, `${type} of ${key}`);
      if (type === 'destroy') this.#known.set(key, { ...known, is: 'destroyed' });
    } catch (cause) {
      // What is stopped cannot pause; what is lost cannot do anything.
      const isRefusal = SubletError.is(cause, 'STATE_CONFLICT') && type === 'pause';
      if (!isRefusal && !(known.is === 'lost' && SubletError.is(cause))) throw cause;
    }
  }

  async #markPrivate({ who, key }: Of<'markPrivate'>): Promise<void> {
    const session = await this.#system.until(this.#system.manager(who).session({ task: key }));
    this.#check(key, session, undefined);
    await this.#system.until(session.markPrivate('customer data read'));
    this.#floors.set(session.key, 'none');
    assert.equal(session.network, 'none');
    this.#remember(key, session);
    await this.#system.until(session.release());
  }

  async #lose(key: Key): Promise<void> {
    const bound = await this.#system.store.getSession(sessionKey({ task: key }));
    const known = this.#known.get(key);
    if (bound === undefined || known === undefined || !this.#system.world.find(bound.sandbox.name)) return;
    this.#system.world.lose(bound.sandbox.name);
    this.lost.add(bound.sandbox.name);
    this.#known.set(key, { ...known, is: 'lost' });
  }

  #check(key: Key, session: Session, asked: NetworkLevel | undefined, notices = session.notices): void {
    const known = this.#known.get(key);
    const floor = tighter(this.floorOf(session.key), asked ?? 'open');
    assert.ok(isAtLeastAsTight(session.network, floor), `${key} must be ${floor} and is ${session.network}`);
    this.#floors.set(session.key, tighter(floor, session.network));
    if (known?.sandboxId === undefined) return;
    if (known.is === 'there') assert.equal(session.sandboxId, known.sandboxId, `${key} got another sandbox`);
    if (known.is === 'destroyed') assert.notEqual(session.sandboxId, known.sandboxId, `${key} got what is destroyed`);
    if (session.sandboxId === known.sandboxId) return;
    assert.equal(
      notices.some(({ type }) => type === 'replaced'),
      true,
      `${key} was replaced without a notice`,
    );
  }

  /** Also when its sandbox was handed out: nobody asks whether it lives each time. */
  #mayFail(key: Key, who: Who): boolean {
    return this.#known.get(key)?.is === 'lost' || (this.#doubts.has(key) && this.#doubts.get(key) !== who);
  }

  async #use(key: Key, session: Session, mayFail: boolean): Promise<void> {
    try {
      const { stdout } = await this.#system.until(session.commands.run('echo hi', { timeoutMs: 5000 }));
      assert.equal(stdout, 'hi\n');
      this.#doubts.delete(key);
      this.#remember(key, session);
    } catch (cause) {
      if (!mayFail) throw cause;
    }
    await this.#system.until(session.release());
  }

  #remember(key: Key, { sandboxId }: Session): void {
    const known = this.#known.get(key);
    if (known?.sandboxId !== sandboxId || known.is !== 'lost') this.#known.set(key, { sandboxId, is: 'there' });
  }
}
