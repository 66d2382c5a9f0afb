/**
 * Several sandboxes of one session. Each has a place, numbered below the limit, and each place is a session of its own: so
 * there are never more than the limit, whoever asks from whichever process.
 */
import type {
  SandboxSet,
  SandboxSetOptions,
  Session,
  SessionOptions,
  SetPlace,
  SetSandboxOptions,
} from '../core/api.ts';
import { SubletError } from '../core/errors.ts';
import { DEFAULT_MAX_PER_RUNTIME } from '../core/sandbox-sets.ts';
import type { SessionKey, SessionKeyParts } from '../core/session-key.ts';
import { parseSessionKey, sessionKey } from '../core/session-key.ts';
import type { BoundSession, SandboxRecord } from '../store/records.ts';
import { SET_SANDBOX } from './call-rules.ts';
import { checkCall } from './check-call.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { isInUse } from './is-in-use.ts';

interface Place {
  readonly key: SessionKey;
  readonly slot: number;
  readonly sandbox: SandboxRecord;
  readonly lastActiveAt: number;
}

const DEFAULT_RUNTIME = 'default';
/** Others take places meanwhile; each round sees what they did. */
const MAX_ROUNDS = 20;

export class SessionSet implements SandboxSet {
  readonly key: SessionKey;
  readonly maxPerRuntime: number;
  readonly #engine: Engine;
  readonly #parts: SessionKeyParts;
  readonly #session: (options: SessionOptions) => Promise<Session>;

  constructor(engine: Engine, session: (options: SessionOptions) => Promise<Session>, options: SandboxSetOptions) {
    const { maxPerRuntime = DEFAULT_MAX_PER_RUNTIME, ...key } = options;
    if (!Number.isInteger(maxPerRuntime) || maxPerRuntime < 1)
      throw new SubletError('USAGE', `A set cannot have ${maxPerRuntime} sandboxes.`, { hint: 'Give 1 or more.' });
    this.key = sessionKey({ ...key, member: undefined });
    this.maxPerRuntime = maxPerRuntime;
    this.#parts = parseSessionKey(this.key);
    this.#engine = engine;
    this.#session = session;
  }

  async sandbox(options: SetSandboxOptions = {}): Promise<Session> {
    checkCall('sandbox', options, SET_SANDBOX);
    const { runtime = DEFAULT_RUNTIME, fresh = false, ...asked } = options;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const places = await this.#places(runtime);
      await this.#makeFit(places);
      const within = places.filter(({ slot }) => slot < this.maxPerRuntime);
      const present = within.filter(({ sandbox }) => isPresent(sandbox));
      const found = fresh ? undefined : await this.#firstUsable(present, asked);
      if (found !== undefined) return found;
      const made = await this.#make(runtime, await this.#room(present, within), asked);
      if (made !== undefined && (made.created || !fresh)) return made;
      // Somebody else had the same place made: it is theirs.
      await made?.release();
    }
    throw new SubletError('STATE_CONFLICT', `The sandboxes of ${this.key} kept changing while one was asked for.`, {
      details: { sessionKey: this.key, runtime },
      hint: 'Try again.',
    });
  }

  async list(runtime?: string): Promise<readonly SetPlace[]> {
    const places = (await this.#places(runtime)).filter(({ sandbox }) => isPresent(sandbox));
    return places.map(({ key, slot, sandbox, lastActiveAt }) => ({
      key,
      slot,
      runtime: parseSessionKey(key).member?.runtime ?? DEFAULT_RUNTIME,
      sandboxId: sandbox.id,
      state: sandbox.state,
      lastActiveAt,
    }));
  }

  /** Places that were ever used, the most recently used first. */
  async #places(runtime: string | undefined): Promise<readonly Place[]> {
    const family = await this.#engine.ports.store.listSessions(Infinity, this.key);
    return family
      .flatMap((bound) => this.#toPlace(bound, runtime))
      .toSorted((a, b) => b.lastActiveAt - a.lastActiveAt || b.sandbox.createdAt - a.sandbox.createdAt);
  }

  #toPlace({ session: { key }, sandbox }: BoundSession, runtime: string | undefined): readonly Place[] {
    const { member } = parseSessionKey(key);
    if (member === undefined || (runtime !== undefined && member.runtime !== runtime)) return [];
    const own = this.#engine.lives.get(sandbox.id)?.lastActiveAt ?? 0;
    return [{ key, slot: member.slot, sandbox, lastActiveAt: Math.max(sandbox.lastActiveAt, own) }];
  }

  /** Undefined when somebody has each of them to themselves. */
  async #firstUsable(present: readonly Place[], asked: SessionOptions): Promise<Session | undefined> {
    for (const { key } of present) {
      const session = await this.#unlessHeld({ ...asked, ...parseSessionKey(key) });
      if (session !== undefined) return session;
    }
    return undefined;
  }

  /** A place for one more: empty, or emptied of the least recently used one that nobody uses. */
  async #room(present: readonly Place[], within: readonly Place[]): Promise<number> {
    const taken = new Set(present.map(({ slot }) => slot));
    // What is still being destroyed is at its provider a while longer: such a place comes last.
    const leaving = new Set(within.filter(({ sandbox }) => sandbox.state === 'destroying').map(({ slot }) => slot));
    const free = Array.from({ length: this.maxPerRuntime }, (_, slot) => slot).filter((slot) => !taken.has(slot));
    const [empty] = [...free.filter((slot) => !leaving.has(slot)), ...free];
    if (empty !== undefined) return empty;
    for (const place of present.toReversed())
      if (await this.#evict(place, `least recently used of ${this.maxPerRuntime}`)) return place.slot;
    throw new SubletError('LEASE_HELD', `All ${this.maxPerRuntime} sandboxes of ${this.key} are in use.`, {
      details: { sessionKey: this.key, max: this.maxPerRuntime },
      hint: 'Try again when one is idle, release one, or allow more with maxPerRuntime.',
    });
  }

  /** Beyond the limit, which may have been another before. */
  async #makeFit(places: readonly Place[]): Promise<void> {
    const beyond = places.filter(({ slot, sandbox }) => slot >= this.maxPerRuntime && isPresent(sandbox));
    for (const place of beyond) await this.#evict(place, `there may be ${this.maxPerRuntime} of them`);
  }

  /** False when it is in use, or was used between being looked at and being destroyed. */
  async #evict({ sandbox, lastActiveAt }: Place, cause: string): Promise<boolean> {
    const engine = this.#engine;
    if (sandbox.state === 'creating' || (await isInUse(engine, sandbox))) return false;
    const live = engine.lives.get(sandbox.id);
    if (live !== undefined && (live.isBusy || live.lastActiveAt > lastActiveAt)) return false;
    return (await destroySandbox(engine, sandbox, cause, { version: sandbox.version })) !== undefined;
  }

  #make(runtime: string, slot: number, asked: SessionOptions): Promise<Session | undefined> {
    return this.#unlessHeld({ ...asked, ...this.#parts, member: { runtime, slot } });
  }

  async #unlessHeld(options: SessionOptions): Promise<Session | undefined> {
    try {
      return await this.#session(options);
    } catch (cause) {
      if (SubletError.is(cause, 'LEASE_HELD')) return undefined;
      throw cause;
    }
  }
}

/** It takes a place: also one that was lost, which is replaced where it was. */
function isPresent({ state }: SandboxRecord): boolean {
  return state !== 'destroying' && state !== 'destroyed';
}
