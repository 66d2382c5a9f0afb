/** Devboxes as sandboxes. Runloop does not know our names: each devbox carries its own as metadata. */
import { SubletError } from '../../core/errors.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { ListedSandbox, SandboxSpec } from '../../provider/provider.ts';
import type { SandboxService, WantedSandboxes } from '../../provider/service/sandbox-service.ts';
import { isOver, labelsOf, NAME, stateOf, toDevbox } from './devbox-facts.ts';
import type { Devbox, RunloopApi } from './runloop-api.ts';
import type { RunloopConfig } from './runloop-config.ts';

export class RunloopService implements SandboxService<Devbox> {
  readonly title = 'Runloop';
  readonly hasUniqueNames = false;
  readonly #api: RunloopApi;
  readonly #config: RunloopConfig;

  constructor(api: RunloopApi, config: RunloopConfig) {
    this.#api = api;
    this.#config = config;
  }

  idOf({ id }: Devbox): string {
    return id;
  }

  read(devbox: Devbox): ListedSandbox | undefined {
    const name = devbox.metadata[NAME];
    if (name === undefined || isOver(devbox)) return undefined;
    const ref = { name, providerId: devbox.id };
    return { ref, labels: labelsOf(devbox), state: stateOf(devbox), createdAt: devbox.create_time_ms };
  }

  failure(devbox: Devbox): SubletError | undefined {
    if (!isOver(devbox)) return undefined;
    const { id, status, failure_reason: failed, shutdown_reason: ended } = devbox;
    const reason = failed ?? ended ?? 'no reason given';
    return new SubletError('CREATE_FAILED', `The devbox ${id} is in the state "${status}": ${reason}.`, {
      hint: 'Look at its blueprint and its logs in the dashboard.',
    });
  }

  create(spec: SandboxSpec): Promise<Devbox> {
    return this.#api.create(toDevbox(spec, this.#config));
  }

  get(id: string, signal: AbortSignal): Promise<Devbox> {
    return this.#api.get(id, signal);
  }

  /** The service filters by status alone. */
  list(_wanted: WantedSandboxes, signal: AbortSignal): AsyncIterable<Devbox> {
    return this.#api.list(signal);
  }

  wake(id: string, signal: AbortSignal): Promise<void> {
    return this.#api.resume(id, signal);
  }

  async remove(id: string, signal: AbortSignal): Promise<'begun'> {
    await this.#api.shutdown(id, signal);
    return 'begun';
  }

  async prepare({ id }: Devbox): Promise<void> {
    await this.#api.execute(id, `mkdir -p -- ${shellQuote(this.#config.cwd)}`);
  }
}
