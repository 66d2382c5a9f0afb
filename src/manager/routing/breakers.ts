/** A breaker for each provider and profile of this process: who fails is passed over for a while, then asked by one. */
import type { Breaker } from '../../core/breaker.ts';
import { CLOSED_BREAKER, afterFailure, afterSuccess, failureOf, triesAllowed } from '../../core/breaker.ts';
import type { SubletError } from '../../core/errors.ts';
import type { ResolvedSandbox } from '../../core/spec.ts';

type Place = Pick<ResolvedSandbox, 'provider' | 'profile'>;

interface Entry {
  breaker: Breaker;
  trying: number;
  lastError: SubletError | undefined;
}

export class Breakers {
  readonly #entries = new Map<string, Entry>();

  /** Why it is not to be asked at this instant of steady time; undefined when it may be. */
  refusal(place: Place, now: number): string | undefined {
    const { breaker, trying, lastError } = this.#entry(place);
    if (triesAllowed(breaker, now) > trying) return undefined;
    const next =
      now < breaker.openUntil ? `is asked again in ${Math.ceil((breaker.openUntil - now) / 1000)} s` : 'is being tried';
    return `it failed ${breaker.failures} times in a row and ${next}${lastError === undefined ? '' : `; ${lastError.message}`}`;
  }

  /** Somebody asks it. The returned function ends that. */
  begin(place: Place): () => void {
    const entry = this.#entry(place);
    entry.trying += 1;
    return () => {
      entry.trying -= 1;
    };
  }

  /** True when it had been passed over. */
  succeeded(place: Place): boolean {
    const entry = this.#entry(place);
    const wasOpen = entry.breaker.openUntil > 0;
    entry.breaker = afterSuccess(entry.breaker);
    entry.lastError = undefined;
    return wasOpen;
  }

  /** True when it is passed over from now on. */
  failed(place: Place, error: SubletError, now: number): boolean {
    const entry = this.#entry(place);
    const wasOpen = entry.breaker.openUntil > 0;
    // How many there are plays no part: whoever is refused goes elsewhere.
    entry.breaker = afterFailure(entry.breaker, failureOf(error), Infinity, now);
    entry.lastError = error;
    return !wasOpen && entry.breaker.openUntil > 0;
  }

  #entry({ provider, profile }: Place): Entry {
    const key = `${provider}\0${profile}`;
    const present = this.#entries.get(key);
    if (present !== undefined) return present;
    const entry = { breaker: CLOSED_BREAKER, trying: 0, lastError: undefined };
    this.#entries.set(key, entry);
    return entry;
  }
}
