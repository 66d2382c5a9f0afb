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

export class SandboxHolder {
  live: LiveSandbox;
  readonly #engine: Engine;

  constructor(engine: Engine, live: LiveSandbox) {
    this.#engine = engine;
    this.live = live;
  }

  /**
   * The sandbox, ready to be used. The record is asked every time, because other processes may have paused it, destroyed it
   * or taken it for themselves. `lease` is the caller's. LEASE_HELD or LEASE_LOST when it is not ours to use; CLOSED when it was destroyed meanwhile.
   */
  async awake(lease?: KeptLease): Promise<LiveSandbox> {
    const engine = this.#engine;
    lease?.assertKept();
    // Another handle may have had the sandbox replaced; tokens of two sandboxes say nothing of each other.
    if (lease !== undefined && lease.sandboxId !== this.live.id) throw lostError({ id: lease.sandboxId }, lease.token);
    const record = await engine.ports.store.getSandbox(this.live.id);
    if (record !== undefined) await assertMayUse(engine, record, lease?.token);
    else if (lease !== undefined) throw lostError(this.live, lease.token);
    // Its term may have passed while the record was asked.
    lease?.assertKept();
    const isReady =
      record?.state === 'running' &&
      !this.live.isResting &&
      !this.live.isGone &&
      !violates(this.live.network, record.network);
    return isReady ? this.live : this.#revive(record, lease);
  }

  async #revive(record: SandboxRecord | undefined, lease: KeptLease | undefined): Promise<LiveSandbox> {
    this.#engine.assertOpen();
    if (record !== undefined && RESTING.includes(record.state)) {
      const { env } = this.live;
      const readiness = await readySandbox(this.#engine, record, { env: async () => env, cause: 'used again' });
      if (readiness.status === 'ready') {
        this.live = readiness.live;
        // It may have taken long, and somebody else may have it to himself by now.
        const present = await this.#engine.ports.store.getSandbox(record.id);
        if (present !== undefined) await assertMayUse(this.#engine, present, lease?.token);
        lease?.assertKept();
        return readiness.live;
      }
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
