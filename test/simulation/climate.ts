/** How things go wrong in one seed. Each seed leaves some troubles out, so that the others are seen undisturbed. */
import type { Fault, FaultyOperation } from '../../src/testing/faulty-provider-world.ts';
import type { Chance } from './chance.ts';
import type { Theme } from './theme.ts';
import type { Call, Fate, Outcome } from './wire.ts';

const SLOW_CREATE_MS = 4_000;
const RENEW = 'leases.renew';

export class Climate {
  /** The provider answers nothing while this is set. */
  isOutage = false;
  readonly listingLagMs: number;
  readonly #chance: Chance;
  readonly #storeTrouble: number;
  readonly #providerTrouble: number;
  readonly #oddity: number;
  readonly #slowness: number;
  readonly #storeMs: number;
  #isHealed = false;

  constructor(chance: Chance, theme: Theme) {
    this.#chance = chance;
    this.#storeTrouble = theme.storeTrouble;
    this.#providerTrouble = chance.pick([0, 0.03, 0.1]);
    this.#oddity = chance.pick([0, 0, 0.03, 0.1]);
    this.#slowness = chance.pick([0.02, 0.1, 0.3]);
    this.#storeMs = theme.storeMs;
    this.listingLagMs = chance.pick([0, 0, 2_000]);
  }

  get isHealed(): boolean {
    return this.#isHealed;
  }

  /** From now on everything works, at its usual pace. */
  heal(): void {
    this.#isHealed = true;
    this.isOutage = false;
  }

  fateOf(call: Pick<Call<unknown>, 'to' | 'what'>): Fate {
    const chance = this.#chance;
    return {
      outcome: this.#outcome(call),
      outMs: this.#delay(call),
      backMs: this.#delay(call),
      lateMs: chance.between(0, 20_000),
      isDeaf: chance.happens(0.3),
    };
  }

  /** How the provider itself behaves oddly this time. */
  oddityOf(operation: FaultyOperation): Fault | undefined {
    if (this.#isHealed || !this.#chance.happens(this.#oddity)) return undefined;
    switch (operation) {
      case 'create':
        return this.#chance.pick<Fault>([{ type: 'duplicate' }, { type: 'rate-limited', retryAfterMs: 7_000 }]);
      case 'reset':
        return { type: 'unclean' };
      case 'attach':
      case 'destroy':
        return { type: 'phantom-not-found' };
      default:
        return { type: 'rate-limited', retryAfterMs: 7_000 };
    }
  }

  #outcome({ to, what }: Pick<Call<unknown>, 'to' | 'what'>): Outcome {
    if (this.#isHealed) return 'answered';
    if (to === 'store') {
      if (!this.#chance.happens(this.#storeTrouble)) return 'answered';
      // One that waits for a row outlives its connection.
      return this.#chance.pick<Outcome>(['refused', 'answer-lost', what === RENEW ? 'done-late' : 'refused']);
    }
    if (this.isOutage) return this.#chance.pick<Outcome>(['refused', 'silent']);
    if (!this.#chance.happens(this.#providerTrouble)) return 'answered';
    if (to === 'box') return this.#chance.pick<Outcome>(['refused', 'answer-lost', 'silent-done']);
    return this.#chance.pick<Outcome>(['refused', 'answer-lost', 'done-late', 'silent', 'silent-done']);
  }

  #delay({ to, what }: Pick<Call<unknown>, 'to' | 'what'>): number {
    const chance = this.#chance;
    const isSlow = !this.#isHealed && chance.happens(this.#slowness);
    if (to === 'store') return isSlow ? chance.between(1, 40) : chance.between(0, this.#isHealed ? 2 : this.#storeMs);
    if (!isSlow) return chance.between(1, 60);
    return what === 'create' ? chance.between(100, SLOW_CREATE_MS) : chance.between(10, 1_500);
  }
}
