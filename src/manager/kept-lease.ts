/** A lease while it is held: renewed in the background at a third of its term, and honest about having been lost. */
import type { HeldLease, LeaseTerms } from '../core/api.ts';
import { SubletError } from '../core/errors.ts';
import type { SandboxId } from '../core/ids.ts';
import type { LeaseRecord, SandboxRecord } from '../store/records.ts';
import { withDeadline } from './deadline.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { assertMayUse, heldError, lostError } from './lease-check.ts';

export const DEFAULT_TTL_MS = 30_000;
const SHORTEST_TTL_MS = 1_000;
const RENEWALS_A_TERM = 3;
/** The first is 1. */
const NO_TOKEN = 0;

/** LEASE_HELD when somebody has it; STATE_CONFLICT when it is not a sandbox that can be used. */
export async function takeLease(engine: Engine, record: SandboxRecord, terms: LeaseTerms): Promise<KeptLease> {
  await engine.register();
  const { holder, ttlMs } = leaseTerms(engine, terms);
  const { store } = engine.ports;
  const present = (await store.getSandbox(record.id)) ?? record;
  await assertMayUse(engine, present);
  // One that was taken since is another's, whatever its instant says on our clock.
  const over = present.lease?.token ?? NO_TOKEN;
  const wish = { holder, ownerId: engine.ownerId, ttlMs, at: engine.now(), over };
  // Before the store is asked, so that we never believe in it for longer than the store does.
  const askedAt = engine.ports.clock.elapsed();
  const leased = await store.leases.acquire(record.id, wish);
  if (leased?.lease !== undefined) return new KeptLease(engine, record.id, leased.lease, askedAt);
  const taken = (await store.getSandbox(record.id)) ?? record;
  if (taken.lease !== undefined) throw heldError(taken);
  throw new SubletError('STATE_CONFLICT', `Sandbox ${record.id} is ${taken.state} and cannot be leased.`, {
    details: { sandboxId: record.id, state: taken.state },
    hint: 'Only a running, paused or stopped sandbox can be leased.',
  });
}

/** USAGE for a term that is too short to be renewed in time. */
export function leaseTerms(engine: Engine, terms: LeaseTerms): { readonly holder: string; readonly ttlMs: number } {
  const { hostName, pid } = engine.ports.identity;
  const { holder = `process ${pid} on ${hostName}`, ttlMs = DEFAULT_TTL_MS } = terms;
  if (!(ttlMs >= SHORTEST_TTL_MS))
    throw new SubletError('USAGE', `ttlMs must be at least ${SHORTEST_TTL_MS}, and is ${ttlMs}.`);
  return { holder, ttlMs };
}

export class KeptLease implements HeldLease {
  readonly sandboxId: SandboxId;
  readonly token: number;
  readonly holder: string;
  readonly #engine: Engine;
  readonly #ttlMs: number;
  readonly #lost = new AbortController();
  #goodUntil: number;
  #cancel: () => void = () => {};
  #isReleased = false;
  /** How it ends where releasing alone would not do: the sandbox goes back to a pool, or away. */
  giveBack: ((cause: string) => Promise<void>) | undefined;

  constructor(engine: Engine, sandboxId: SandboxId, lease: LeaseRecord, takenAt: number) {
    this.sandboxId = sandboxId;
    this.token = lease.token;
    this.holder = lease.holder;
    this.#engine = engine;
    this.#ttlMs = lease.ttlMs;
    this.#goodUntil = takenAt + lease.ttlMs;
    engine.leases.add(this);
    this.#scheduleRenewal();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** LEASE_LOST once its term is over or the store said so. */
  assertKept(): void {
    if (this.#engine.ports.clock.elapsed() >= this.#goodUntil) this.#lose();
    if (this.lost.aborted) throw lostError({ id: this.sandboxId }, this.token);
  }

  /** Twice is harmless, and so is releasing what was lost. */
  async release(cause: string): Promise<void> {
    if (this.#isReleased) return;
    if (this.giveBack !== undefined) return this.giveBack(cause);
    this.#stop();
    const { store } = this.#engine.ports;
    await store.leases.release(this.sandboxId, this.token, cause, this.#engine.now());
  }

  /** It is renewed no more: whoever calls this sees to the record. */
  end(): void {
    this.#stop();
  }

  #scheduleRenewal(): void {
    const { clock } = this.#engine.ports;
    const ms = this.#ttlMs / RENEWALS_A_TERM;
    const renew = (): void => this.#engine.inBackground('lease not renewed', this.#renew());
    this.#cancel = clock.schedule(ms, renew, { ref: false });
  }

  async #renew(): Promise<void> {
    if (this.#isReleased) return;
    const { store, clock, log } = this.#engine.ports;
    const askedAt = clock.elapsed();
    const leftMs = this.#goodUntil - askedAt;
    // Others may have used it since, though nobody has taken it.
    if (leftMs <= 0) return this.#lose();
    try {
      const late = (): SubletError => lostError({ id: this.sandboxId }, this.token);
      const renewed = await withDeadline(clock, { ms: leftMs, late }, () =>
        store.leases.renew(this.sandboxId, this.token, this.#engine.now()),
      );
      if (renewed === undefined) this.#lose();
      else this.#goodUntil = askedAt + this.#ttlMs;
    } catch (cause) {
      // A store that does not answer does not give it to another before its term is over.
      log.warn({ sandboxId: this.sandboxId, error: describe(cause) }, 'lease not renewed; will be tried again');
      if (clock.elapsed() >= this.#goodUntil) this.#lose();
    }
    if (!this.#isReleased && !this.lost.aborted) this.#scheduleRenewal();
  }

  #lose(): void {
    if (this.#isReleased) return;
    this.#stop();
    this.#lost.abort(lostError({ id: this.sandboxId }, this.token));
  }

  #stop(): void {
    this.#isReleased = true;
    this.#cancel();
    this.#engine.leases.delete(this);
  }
}
