/** One sandbox for a name, also when an answer is lost, several ask at once or the caller gives up. */
import type { Clock } from '../../core/clock.ts';
import { SubletError, throwIfAborted } from '../../core/errors.ts';
import type { ProviderContext, ProviderLog } from '../define-provider.ts';
import type { SandboxSpec } from '../provider.ts';
import { abortable } from '../abortable.ts';
import { PendingCreates } from './pending-creates.ts';
import { lookUntil } from './look-until.ts';
import type { SandboxClaims, SandboxService } from './sandbox-service.ts';
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

/** A create elsewhere that has not been claimed or undone after so many looks was left behind: about half a minute. */
const CLAIM_LOOKS = 40;

export class OneCreate<Box> {
  readonly #service: SandboxService<Box>;
  readonly #lookup: CreateLookup<Box>;
  readonly #clock: Clock;
  readonly #log: ProviderLog;
  readonly #pending = new PendingCreates<Box>();

  constructor(
    service: SandboxService<Box>,
    lookup: CreateLookup<Box>,
    { clock, log }: Pick<ProviderContext, 'clock' | 'log'>,
  ) {
    this.#service = service;
    this.#lookup = lookup;
    this.#clock = clock;
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
      const isTaken = SubletError.is(error, 'STATE_CONFLICT');
      if (!isTaken && !SubletError.is(error, 'PROVIDER_UNAVAILABLE')) throw error;
      const [found] = await this.#lookup.named(spec.name, never()).catch((cause: unknown) => {
        throw isTaken ? cause : error;
      });
      if (found === undefined) throw error;
      return { box: found, isNew: !isTaken };
    }
  }

  /** Whoever finds another one of that name that counts ends his own and takes that. */
  async #oneOf(made: Made<Box>, name: string): Promise<Made<Box>> {
    const { hasUniqueNames, claims } = this.#service;
    if (hasUniqueNames) return made;
    const choosing = claims === undefined ? this.#lookup.named(name, never()) : this.#claimed(made.box, name, claims);
    const [chosen] = await choosing.catch(async (error: unknown) => {
      await this.#undo(made.box);
      throw error;
    });
    if (chosen === undefined || this.#isSame(chosen, made.box)) return made;
    await this.#undo(made.box);
    return { box: chosen, isNew: false };
  }

  /**
   * Of two that look after they made their own, at least one sees both. Who sees no other claims. Of those who see each other
   * all but the one with the lowest id give up theirs; and that one may have been seen too late by another who claims.
   */
  async #claimed(own: Box, name: string, claims: SandboxClaims<Box>): Promise<readonly Box[]> {
    let hasYielded = false;
    const look = async (): Promise<Box | undefined> => {
      const all = await this.#lookup.named(name, never());
      const others = all.filter((box) => !this.#isSame(box, own));
      const claimed = others.find((box) => claims.isClaimed(box));
      if (claimed !== undefined || hasYielded) return claimed;
      if (others.length === 0) {
        await claims.claim(own);
        return own;
      }
      const id = this.#service.idOf(own);
      hasYielded = others.some((box) => this.#service.idOf(box) < id);
      if (hasYielded) await this.#undo(own);
      return undefined;
    };
    const found = await lookUntil(this.#clock, look, never(), CLAIM_LOOKS);
    if (found !== undefined) return [found];
    throw new SubletError('PROVIDER_UNAVAILABLE', `Somebody else began to make "${name}" and has not finished.`, {
      hint: 'Try again later; destroy it by its name if it stays so.',
    });
  }

  #isSame(a: Box, b: Box): boolean {
    return this.#service.idOf(a) === this.#service.idOf(b);
  }

  #goneError(name: string, cause: unknown): SubletError {
    return new SubletError('CREATE_FAILED', `The sandbox "${name}" was gone as soon as it was made.`, {
      cause,
      hint: `Look at it in the dashboard of ${this.#service.title}; raise the time-outs of the profile.`,
    });
  }

  async #undo(box: Box): Promise<void> {
    const id = this.#service.idOf(box);
    await this.#service.remove(id, never()).catch((error: unknown) => {
      if (!isNotFound(error)) this.#log.warn({ id, error: String(error) }, 'a failed create was not removed');
    });
  }
}

/** What follows a create is not given up with it: nobody else would do it. */
function never(): AbortSignal {
  return new AbortController().signal;
}
