/** One sandbox for a name, also when an answer is lost, several ask at once or the caller gives up. */
import { SubletError, throwIfAborted } from '../../core/errors.ts';
import type { ProviderLog } from '../define-provider.ts';
import type { SandboxSpec } from '../provider.ts';
import { abortable } from '../abortable.ts';
import { PendingCreates } from './pending-creates.ts';
import type { SandboxService } from './sandbox-service.ts';
import { isNotFound } from './service-errors.ts';

export interface CreateLookup<Box> {
  /** What is there and has the name, the oldest first. */
  named(name: string, signal: AbortSignal): Promise<readonly Box[]>;
  /** Wakes it if it rests, and waits until it runs. */
  ready(box: Box, signal: AbortSignal): Promise<Box>;
}

interface Made<Box> {
  readonly box: Box;
  /** This call made it, as far as anybody can tell. */
  readonly isNew: boolean;
}

export class OneCreate<Box> {
  readonly #service: SandboxService<Box>;
  readonly #lookup: CreateLookup<Box>;
  readonly #log: ProviderLog;
  readonly #pending = new PendingCreates<Box>();

  constructor(service: SandboxService<Box>, lookup: CreateLookup<Box>, log: ProviderLog) {
    this.#service = service;
    this.#lookup = lookup;
    this.#log = log;
  }

  /** Rejects when the signal aborts, after what was made by then has been removed again. */
  make(spec: SandboxSpec, signal: AbortSignal): Promise<Box> {
    return this.#pending.after(spec.name, () => this.#make(spec, signal));
  }

  /** When no create of this process is on its way to the service any more. */
  settled(name: string): Promise<void> {
    return this.#pending.settled(name);
  }

  async #make(spec: SandboxSpec, signal: AbortSignal): Promise<Box> {
    throwIfAborted(signal);
    const { box, isNew } = await this.#oneOf(await this.#createOrFind(spec, signal), spec.name);
    try {
      throwIfAborted(signal);
      const ready = await this.#lookup.ready(box, signal);
      await abortable(this.#service.prepare?.(ready, signal) ?? Promise.resolve(), signal);
      return ready;
    } catch (error) {
      if (isNew) await this.#undo(box);
      throw isNotFound(error) ? this.#goneError(spec.name, error) : error;
    }
  }

  /** Asked once. When the answer does not say whether it was made, the name does. */
  async #createOrFind(spec: SandboxSpec, signal: AbortSignal): Promise<Made<Box>> {
    try {
      return { box: await this.#service.create(spec, signal), isNew: true };
    } catch (error) {
      const isTaken = this.#service.hasUniqueNames && SubletError.is(error, 'STATE_CONFLICT');
      if (!isTaken && !SubletError.is(error, 'PROVIDER_UNAVAILABLE')) throw error;
      const [found] = await this.#lookup.named(spec.name, new AbortController().signal).catch((cause: unknown) => {
        throw isTaken ? cause : error;
      });
      if (found === undefined) throw error;
      return { box: found, isNew: !isTaken };
    }
  }

  /** Whoever finds an older one of that name beside his own ends his own and takes that. */
  async #oneOf(made: Made<Box>, name: string): Promise<Made<Box>> {
    if (this.#service.hasUniqueNames) return made;
    const [first] = await this.#lookup.named(name, new AbortController().signal).catch(async (error: unknown) => {
      await this.#undo(made.box);
      throw error;
    });
    if (first === undefined || this.#service.idOf(first) === this.#service.idOf(made.box)) return made;
    await this.#undo(made.box);
    return { box: first, isNew: false };
  }

  #goneError(name: string, cause: unknown): SubletError {
    return new SubletError('CREATE_FAILED', `The sandbox "${name}" was gone as soon as it was made.`, {
      cause,
      hint: `Look at it in the dashboard of ${this.#service.title}; raise the time-outs of the profile.`,
    });
  }

  async #undo(box: Box): Promise<void> {
    const id = this.#service.idOf(box);
    await this.#service.remove(id, new AbortController().signal).catch((error: unknown) => {
      if (!isNotFound(error)) this.#log.warn({ id, error: String(error) }, 'a failed create was not removed');
    });
  }
}
