/** Keeps things ahead of need while sandboxes are being made one after another. */
import type { Clock } from '../../core/clock.ts';

/** What is made ahead: it can be kept from holding this process alive, and be given up without a trace. */
export interface Supplied {
  setReferenced(referenced: boolean): void;
  discard(): Promise<void>;
}

const UNUSED_MS = 30_000;
const MOST = 4;
const REFILL_AFTER_MS = 4;

/** One that was begun; nothing when it failed. */
interface Begun<T> {
  readonly made: Promise<T | undefined>;
  isMade: boolean;
}

export class Supply<T extends Supplied> {
  readonly #make: (onUnderWay?: () => void) => Promise<T>;
  readonly #clock: Clock;
  readonly #begun: Begun<T>[] = [];
  #target = 1;
  #taken = 0;
  #cancelDiscard: () => void = () => undefined;
  #cancelRefill: () => void = () => undefined;

  constructor(make: (onUnderWay?: () => void) => Promise<T>, clock: Clock) {
    this.#make = make;
    this.#clock = clock;
  }

  /** The oldest that was made ahead; undefined when there is none. */
  async take(): Promise<T | undefined> {
    this.#taken++;
    const next = this.#begun.shift();
    // Whoever has to wait for one shows that more should be ready.
    if (next?.isMade === false) this.#target = Math.min(this.#target * 2, MOST);
    const made = await next?.made;
    made?.setReferenced(true);
    return made;
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
        while (this.#begun.length < this.#target) this.prepare();
      },
      { ref: false },
    );
  }

  /** Makes one ahead. `onUnderWay` is called when it goes on by itself, or never will. */
  prepare(onUnderWay?: () => void): void {
    const made = this.#make(onUnderWay).then(
      (thing) => {
        onUnderWay?.();
        thing.setReferenced(false);
        begun.isMade = true;
        return thing;
      },
      // Whoever takes it makes one and hears why.
      () => {
        onUnderWay?.();
        return undefined;
      },
    );
    const begun: Begun<T> = { made, isMade: false };
    this.#begun.push(begun);
    this.#cancelDiscard();
    // What cannot be removed now is found with what others left.
    const discard = (): void => void this.close().catch(() => undefined);
    this.#cancelDiscard = this.#clock.schedule(UNUSED_MS, discard, { ref: false });
  }

  async close(): Promise<void> {
    this.#cancelRefill();
    this.#cancelDiscard();
    this.#target = 1;
    await Promise.all(this.#begun.splice(0).map(async ({ made }) => (await made)?.discard()));
  }
}
