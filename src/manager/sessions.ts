/** Sessions of this process: the fast way to a live one, one slow acquire per key, and the network ratchet. */
import type { Session, SessionNotice, SessionOptions } from '../core/api.ts';
import { SubletError, abortedError } from '../core/errors.ts';
import type { NetworkLevel } from '../core/network.ts';
import { isAtLeastAsTight, violates } from '../core/network.ts';
import type { SessionKey } from '../core/session-key.ts';
import { parseSessionKey, sessionKey } from '../core/session-key.ts';
import type { BoundSession } from '../store/records.ts';
import type { Acquired } from './acquire-session.ts';
import { acquireSession } from './acquire-session.ts';
import { flushActivity } from './activity.ts';
import { containUncut } from './contain.ts';
import { untilAborted } from './deadline.ts';
import type { Engine } from './engine.ts';
import { assertMayUse } from './lease-check.ts';
import { callProvider } from './provider-call.ts';
import { cutNetwork, isUsable } from './ready-sandbox.ts';
import { recreateTighter, untilForerunnersGone, untilPutAway } from './recreate-tighter.ts';
import { SandboxHolder } from './sandbox-holder.ts';
import { tightenRelatives } from './session-family.ts';
import type { Binding, SessionKeeper } from './session-handle.ts';
import { SessionHandle } from './session-handle.ts';
import { asksForNothingNew, assertSameSandbox, tighterThanAskedNotice, wantedAgain } from './session-wants.ts';

/** One acquire that several callers wait for. It is given up only when all of them have. */
interface SharedAcquire {
  readonly promise: Promise<Acquired>;
  readonly abort: AbortController;
  waiting: number;
}

export class Sessions implements SessionKeeper {
  readonly #engine: Engine;
  readonly #bindings = new Map<SessionKey, Binding>();
  readonly #acquiring = new Map<SessionKey, SharedAcquire>();
  #flushedAt = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async session(options: SessionOptions): Promise<Session> {
    this.#engine.assertOpen();
    if (options.signal?.aborted === true) throw abortedError(options.signal);
    const key = sessionKey(options);
    if (!this.#acquiring.has(key)) {
      const bound = await this.#engine.ports.store.getSession(key);
      const binding = this.#bindings.get(key);
      if (bound?.sandbox.lease !== undefined) await assertMayUse(this.#engine, bound.sandbox);
      if (bound !== undefined && binding !== undefined && this.#isReady(bound, binding, options))
        return this.#held(this.#reuse(bound, binding, options), options);
    }
    return this.#held(await this.#acquire(key, options), options);
  }

  /** The handle, exclusive if that is asked for. */
  async #held(session: SessionHandle, { exclusive }: SessionOptions): Promise<Session> {
    if (exclusive === undefined || exclusive === false) return session;
    await session.hold(exclusive === true ? {} : exclusive);
    return session;
  }

  /** The record first, so that a crash in between leaves the tighter level on it and the next use enforces it. */
  async tighten(binding: Binding, level: NetworkLevel, reason: string): Promise<readonly SessionNotice[]> {
    const engine = this.#engine;
    if (!isAtLeastAsTight(level, binding.network)) throw looser(binding, level);
    await engine.register();
    const bound = await engine.ports.store.tightenSession(binding.key, level, reason, engine.now());
    if (bound === undefined) {
      throw new SubletError('SESSION_NOT_FOUND', `Session ${binding.key} is no longer known.`, {
        hint: 'Ask for the session again.',
      });
    }
    const isNew = binding.network !== bound.session.network;
    binding.network = bound.session.network;
    // Every row first: whatever happens on the way, the next use of each enforces it.
    const others = await tightenRelatives(engine, binding.key, bound.session.network, reason);
    const [replaced] = await allDone([this.#enforce(binding, bound), ...others.map((other) => this.#follow(other))]);
    const tightened = tightenedNotice(bound.session.network, reason, engine.now());
    return [...(isNew ? [tightened] : []), ...(replaced === undefined ? [] : [replaced])];
  }

  /** Bindings whose sandbox this process let go of; handles on them still know what they held. */
  forgetGone(): void {
    for (const [key, { holder }] of this.#bindings) if (holder.live.isGone) this.#bindings.delete(key);
  }

  async released(binding: Binding): Promise<void> {
    const now = this.#engine.now();
    if (now - this.#flushedAt < this.#engine.config.touchIntervalMs) return;
    this.#flushedAt = now;
    await flushActivity(this.#engine, binding.holder.live.id);
  }

  #isReady(bound: BoundSession, { holder: { live } }: Binding, options: SessionOptions): boolean {
    return (
      live.id === bound.sandbox.id &&
      !live.isGone &&
      isUsable(this.#engine, bound.sandbox, live) &&
      asksForNothingNew(options, bound)
    );
  }

  #reuse(bound: BoundSession, binding: Binding, options: SessionOptions): SessionHandle {
    const now = this.#engine.now();
    binding.network = bound.session.network;
    binding.holder.live.active(now);
    binding.holder.live.isResting = false;
    this.#engine.count(bound.session.kind, 'reused');
    const notice = tighterThanAskedNotice(options, bound, now);
    return this.#handle(binding, options, false, notice === undefined ? [] : [notice]);
  }

  async #acquire(key: SessionKey, options: SessionOptions): Promise<SessionHandle> {
    const joined = this.#acquiring.get(key);
    const shared = joined ?? this.#startAcquire(key, options);
    const acquired = await this.#waitFor(shared, options.signal);
    const binding = this.#bind(key, acquired);
    if (joined !== undefined) {
      // It began before this call, and the session may have been tightened in between.
      const bound = await this.#engine.ports.store.getSession(key);
      if (bound?.sandbox.id === acquired.live.id && violates(acquired.live.network, bound.session.network))
        return this.#acquire(key, options);
      this.#engine.count(acquired.session.kind, 'reused');
      await assertSameSandbox(this.#engine, options, { session: acquired.session, sandbox: acquired.live.record });
    }
    const session = this.#handle(binding, options, joined === undefined && acquired.created, acquired.notices);
    if (options.network !== undefined && !isAtLeastAsTight(binding.network, options.network)) {
      await session.setNetwork(options.network, 'asked for by a later use of the session');
    }
    return session;
  }

  #startAcquire(key: SessionKey, options: SessionOptions): SharedAcquire {
    const abort = new AbortController();
    const { kind } = parseSessionKey(key);
    const { signal: _own, ...shareable } = options;
    const promise = acquireSession(this.#engine, { key, kind, options: shareable, signal: abort.signal }).finally(() =>
      this.#acquiring.delete(key),
    );
    const shared = { promise, abort, waiting: 0 };
    this.#acquiring.set(key, shared);
    // Closing takes with it what is being acquired, also while it only waits for another process.
    const onClose = (): void => abort.abort(this.#engine.closing.reason);
    this.#engine.closing.addEventListener('abort', onClose, { once: true });
    const over = promise.finally(() => this.#engine.closing.removeEventListener('abort', onClose));
    this.#engine.inBackground(
      'session not acquired',
      over.catch(() => {}),
    );
    return shared;
  }

  async #waitFor(shared: SharedAcquire, signal: AbortSignal | undefined): Promise<Acquired> {
    shared.waiting += 1;
    try {
      return signal === undefined ? await shared.promise : await untilAborted(shared.promise, signal);
    } catch (cause) {
      if (signal?.aborted === true && shared.waiting === 1) {
        shared.abort.abort(abortedError(signal));
        // The one who gives up last waits until what was being made is undone.
        await shared.promise.catch(() => {});
      }
      throw cause;
    } finally {
      shared.waiting -= 1;
    }
  }

  #bind(key: SessionKey, { session, live }: Acquired): Binding {
    const present = this.#bindings.get(key);
    // Handles on an earlier sandbox stay with it: nobody is moved to another without being told.
    if (present !== undefined && present.holder.live.id === live.id) {
      present.holder.live = live;
      present.network = session.network;
      return present;
    }
    const binding = { key, holder: new SandboxHolder(this.#engine, live), network: session.network };
    this.#bindings.set(key, binding);
    return binding;
  }

  #handle(
    binding: Binding,
    options: SessionOptions,
    created: boolean,
    notices: readonly SessionNotice[],
  ): SessionHandle {
    const env = options.env !== undefined && !isCovered(options.env, binding.holder.live.env) ? options.env : undefined;
    return new SessionHandle(this.#engine, binding, this, { created, notices, env });
  }

  /** A relative of what was tightened: cut now, where there is something to cut. */
  async #follow(bound: BoundSession): Promise<undefined> {
    const binding = this.#bindings.get(bound.session.key);
    if (binding !== undefined) binding.network = bound.session.network;
    if (!['running', 'paused', 'stopped', 'creating'].includes(bound.sandbox.state)) return;
    await this.#enforce(binding, bound);
  }

  async #enforce(binding: Binding | undefined, bound: BoundSession): Promise<SessionNotice | undefined> {
    const engine = this.#engine;
    await untilForerunnersGone(engine, bound);
    // Whoever makes it compares it with its row before anybody gets it.
    if (bound.sandbox.state === 'creating') return undefined;
    // Another process may have bound the key to another sandbox: that is the one to cut.
    const live = binding?.holder.live.id === bound.sandbox.id ? binding.holder.live : undefined;
    if (live !== undefined && live.network !== 'unknown' && !violates(live.network, bound.session.network)) {
      return undefined;
    }
    const isCut = await cutNetwork(engine, bound.sandbox).catch((cause: unknown) => leftUncut(engine, bound, cause));
    if (isCut) {
      if (live !== undefined) live.network = bound.session.network;
      return undefined;
    }
    if (live === undefined)
      return (await isTightEnough(engine, bound)) ? undefined : leftUncut(engine, bound, undefined);
    const wanted = await wantedAgain(engine, { env: live.env }, bound);
    const recreated = await recreateTighter(engine, bound, live, wanted, undefined);
    if (recreated === undefined) {
      await untilPutAway(engine, bound.sandbox);
      return undefined;
    }
    if (binding !== undefined) binding.holder.live = recreated.live;
    return recreated.notice;
  }
}

function leftUncut(engine: Engine, { sandbox, session }: BoundSession, cause: unknown): Promise<never> {
  const hint = 'Ask for the session again to try once more.';
  return containUncut(engine, { ...sandbox, network: session.network }, cause, hint);
}

/** What another process made for the session may have been made as tight as it has to be. */
async function isTightEnough(engine: Engine, { sandbox, session }: BoundSession): Promise<boolean> {
  const handle = await callProvider(engine, sandbox, 'attach', (provider, ref, signal) => provider.attach(ref, signal));
  await handle?.close();
  return handle === undefined || (handle.network !== 'unknown' && !violates(handle.network, session.network));
}

/** All, also when one of them fails; then that failure. */
async function allDone<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(work);
  for (const each of settled) if (each.status === 'rejected') throw each.reason;
  return settled.map((each) => (each as PromiseFulfilledResult<T>).value);
}

function isCovered(asked: Readonly<Record<string, string>>, present: Readonly<Record<string, string>>): boolean {
  return Object.entries(asked).every(([name, value]) => present[name] === value);
}

function tightenedNotice(level: NetworkLevel, reason: string, at: number): SessionNotice {
  return { type: 'network-tightened', at, level, message: `The network is "${level}" from now on: ${reason}` };
}

function looser(binding: Binding, level: NetworkLevel): SubletError {
  return new SubletError(
    'STATE_CONFLICT',
    `The network of session ${binding.key} is "${binding.network}" and does not loosen to "${level}".`,
    {
      details: { sessionKey: binding.key, network: binding.network },
      retryable: false,
      hint: "A session's network only tightens. Use another task for work that needs more.",
    },
  );
}
