/** Keeps blanks ahead of need while sandboxes are being made one after another. */
import type { Clock } from '../../core/clock.ts';
import type { Blank } from './blank.ts';

const UNUSED_MS = 30_000;
const MOST = 4;
const REFILL_AFTER_MS = 4;

interface Spare {
  readonly blank: Promise<Blank | undefined>;
  isMade: boolean;
}

export class BlankSupply {
  readonly #make: (onMapped?: () => void) => Promise<Blank>;
  readonly #clock: Clock;
  readonly #spare: Spare[] = [];
  #target = 1;
  #taken = 0;
  #cancelDiscard: () => void = () => undefined;
  #cancelRefill: () => void = () => undefined;

  constructor(make: (onMapped?: () => void) => Promise<Blank>, clock: Clock) {
    this.#make = make;
    this.#clock = clock;
  }

  async take(): Promise<Blank> {
    const next = this.#spare.shift();
    // Whoever has to wait for one shows that more should be ready.
    if (next?.isMade === false) this.#target = Math.min(this.#target * 2, MOST);
    const blank = (await next?.blank) ?? (await this.#make());
    blank.setup.setReferenced(true);
    this.#taken++;
    return blank;
  }

  /**
   * Called when a sandbox is up: the first may be the only one, the second shows that more will come. A little later,
   * because starting a process holds this one up just when the new sandbox is wanted.
   */
  refill(): void {
    if (this.#taken < 2) return;
    this.#cancelRefill();
    this.#cancelRefill = this.#clock.schedule(
      REFILL_AFTER_MS,
      () => {
        while (this.#spare.length < this.#target) this.prepare();
      },
      { ref: false },
    );
  }

  /** Makes one blank ahead. `onMapped` is called when it goes on by itself, or never will. */
  prepare(onMapped?: () => void): void {
    const blank = this.#make(onMapped).then(
      (made) => {
        made.setup.setReferenced(false);
        spare.isMade = true;
        return made;
      },
      // Whoever takes it tries again and hears why.
      () => {
        onMapped?.();
        return undefined;
      },
    );
    const spare: Spare = { blank, isMade: false };
    this.#spare.push(spare);
    this.#cancelDiscard();
    this.#cancelDiscard = this.#clock.schedule(UNUSED_MS, () => void this.close(), { ref: false });
  }

  async close(): Promise<void> {
    this.#cancelRefill();
    this.#cancelDiscard();
    this.#target = 1;
    await Promise.all(this.#spare.splice(0).map(async ({ blank }) => (await blank)?.discard()));
  }
}
