/** Somebody's hold on a sandbox: the same whether it sleeps, wakes or is attached anew under it. */
import { SubletError } from '../core/errors.ts';
import type { Engine } from './engine.ts';
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

  /** The sandbox, woken if this process put it to rest. CLOSED when it was destroyed meanwhile. */
  awake(): LiveSandbox | Promise<LiveSandbox> {
    return this.live.isResting || this.live.gone.aborted ? this.#revive() : this.live;
  }

  async #revive(): Promise<LiveSandbox> {
    this.#engine.assertOpen();
    const record = await this.#engine.ports.store.getSandbox(this.live.id);
    if (record !== undefined && RESTING.includes(record.state)) {
      const { env } = this.live;
      const readiness = await readySandbox(this.#engine, record, { env: async () => env, cause: 'used again' });
      if (readiness.status === 'ready') {
        this.live = readiness.live;
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
