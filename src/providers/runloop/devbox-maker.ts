/**
 * Makes devboxes: one for a name, also when an answer is lost or the caller gives up. Runloop does not know our names, so
 * each devbox carries its own as metadata, and of several that carry the same one the oldest is it.
 */
import { abortedError, SubletError } from '../../core/errors.ts';
import type { ProviderLog } from '../../provider/define-provider.ts';
import { PendingCreates } from '../../provider/pending-creates.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { isOver, NAME, toDevbox } from './devbox-facts.ts';
import type { Devbox, RunloopApi } from './runloop-api.ts';
import type { RunloopConfig } from './runloop-config.ts';
import { isGone } from './runloop-errors.ts';

type Until = (id: string, isDone: (devbox: Devbox) => boolean, signal: AbortSignal) => Promise<Devbox>;

export class DevboxMaker {
  readonly #api: RunloopApi;
  readonly #config: RunloopConfig;
  readonly #log: ProviderLog;
  readonly #until: Until;
  readonly #pending = new PendingCreates();

  constructor(api: RunloopApi, config: RunloopConfig, log: ProviderLog, until: Until) {
    this.#api = api;
    this.#config = config;
    this.#log = log;
    this.#until = until;
  }

  /** Rejects when the signal aborts, after what was made by then has been removed again. */
  make(spec: SandboxSpec, signal: AbortSignal): Promise<Devbox> {
    return this.#pending.track(spec.name, this.#make(spec, signal));
  }

  /** When no create of this process is on its way to the service any more. */
  settled(name: string): Promise<void> {
    return this.#pending.settled(name);
  }

  /** Every devbox that is there and carries the name, the oldest first. */
  async named(name: string, signal: AbortSignal): Promise<Devbox[]> {
    const found: Devbox[] = [];
    for await (const devbox of this.#api.list(signal)) {
      if (devbox.metadata[NAME] === name && !isOver(devbox)) found.push(devbox);
    }
    return found.sort((a, b) => a.create_time_ms - b.create_time_ms || (a.id < b.id ? -1 : 1));
  }

  async #make(spec: SandboxSpec, signal: AbortSignal): Promise<Devbox> {
    const [present] = await this.named(spec.name, signal);
    if (present !== undefined) return this.#ready(present, signal);
    const made = await this.#create(spec);
    try {
      if (signal.aborted) throw abortedError(signal);
      const [first] = await this.named(spec.name, signal);
      if (first !== undefined && first.id !== made.id) {
        await this.#undo(made);
        return await this.#ready(first, signal);
      }
      const ready = await this.#ready(made, signal);
      await this.#api.execute(ready.id, `mkdir -p -- ${shellQuote(this.#config.cwd)}`);
      return ready;
    } catch (error) {
      await this.#undo(made);
      throw error;
    }
  }

  /** Asked once. When the answer does not say whether it was made, the list does. */
  async #create(spec: SandboxSpec): Promise<Devbox> {
    try {
      return await this.#api.create(toDevbox(spec, this.#config));
    } catch (error) {
      if (!SubletError.is(error, 'PROVIDER_UNAVAILABLE')) throw error;
      const [found] = await this.named(spec.name, new AbortController().signal).catch(() => []);
      if (found === undefined) throw error;
      return found;
    }
  }

  async #ready(devbox: Devbox, signal: AbortSignal): Promise<Devbox> {
    if (devbox.status === 'running') return devbox;
    if (devbox.status === 'suspended') await this.#api.resume(devbox.id, signal);
    return this.#until(devbox.id, ({ status }) => status === 'running', signal);
  }

  async #undo({ id }: Devbox): Promise<void> {
    await this.#api.shutdown(id, new AbortController().signal).catch((error: unknown) => {
      if (!isGone(error)) this.#log.warn({ id, error: String(error) }, 'a failed create was not removed');
    });
  }
}
