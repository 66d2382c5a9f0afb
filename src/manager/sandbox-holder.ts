/** Somebody's hold on a sandbox: the same whether it sleeps, wakes or is attached anew under it. */
import { SubletError } from '../core/errors.ts';
import { violates } from '../core/network.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';
import type { KeptLease } from './kept-lease.ts';
import { assertMayUse, lostError } from './lease-check.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { readySandbox } from './ready-sandbox.ts';

const RESTING = ['running', 'paused', 'stopped'];
/** Others put it to rest or tighten it while it is being woken; not as often as this without end. */
const MAX_ROUNDS = 10;

export class SandboxHolder {
  live: LiveSandbox;
  readonly #engine: Engine;

  constructor(engine: Engine, live: LiveSandbox) {
    this.#engine = engine;
    this.live = live;
  }

  /**
   * The sandbox, ready to be used. The record is asked every time, because other processes may have paused it, destroyed it
   * or taken it for themselves, and again after it was woken. `lease` is the caller's. LEASE_HELD or LEASE_LOST when it is not ours
   * to use; CLOSED when it was destroyed meanwhile.
   */
  async awake(lease?: KeptLease): Promise<LiveSandbox> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const record = await this.#mayUse(lease);
      if (record !== undefined && this.#isReady(record)) return this.live;
      await this.#revive(record);
    }
    throw new SubletError('STATE_CONFLICT', `Sandbox ${this.live.id} kept changing while it was being woken.`, {
      details: { sandboxId: this.live.id },
      hint: 'Try again; look for processes that keep putting it to rest with: sublet events',
    });
  }

  async #mayUse(lease: KeptLease | undefined): Promise<SandboxRecord | undefined> {
    const engine = this.#engine;
    lease?.assertKept();
    // Another handle may have had the sandbox replaced; tokens of two sandboxes say nothing of each other.
    if (lease !== undefined && lease.sandboxId !== this.live.id) throw lostError({ id: lease.sandboxId }, lease.token);
    const record = await engine.ports.store.getSandbox(this.live.id);
    if (record !== undefined) await assertMayUse(engine, record, lease?.token);
    else if (lease !== undefined) throw lostError(this.live, lease.token);
    // Its term may have passed while the record was asked.
    lease?.assertKept();
    return record;
  }

  #isReady({ state, network }: SandboxRecord): boolean {
    const { live } = this;
    // What failed at the provider may have been done all the same.
    const isTrusted = !live.isResting && !live.isGone && !live.isDoubted;
    return state === 'running' && isTrusted && !violates(live.network, network);
  }

  /** Returns when it is worth looking again. */
  async #revive(record: SandboxRecord | undefined): Promise<void> {
    this.#engine.assertOpen();
    if (record !== undefined && RESTING.includes(record.state)) {
      const { env } = this.live;
      const readiness = await readySandbox(this.#engine, record, { env: async () => env, cause: 'used again' });
      if (readiness.status === 'ready') this.live = readiness.live;
      if (readiness.status === 'ready' || readiness.status === 'changed') return;
      if (readiness.status === 'lost') throw goneError(record);
      await readiness.live.close();
    }
    throw new SubletError(
      'CLOSED',
      `Sandbox ${this.live.id} is ${record?.state ?? 'gone'} (${record?.cause ?? 'forgotten'}).`,
      {
        details: { sandboxId: this.live.id },
        hint: 'Ask for the session again to get a sandbox that lives.',
      },
    );
  }
}

function goneError({ id }: SandboxRecord): SubletError {
  return new SubletError('SANDBOX_LOST', `Sandbox ${id} is gone, and Sublet did not destroy it.`, {
    details: { sandboxId: id },
    hint: 'Ask for the session again: its policy says what becomes of it.',
  });
}
