/** Keeps one blank ahead of need while sandboxes are being made one after another. */
import type { Clock } from '../../core/clock.ts';
import type { Blank } from './blank.ts';

const UNUSED_MS = 30_000;

export class BlankSupply {
  readonly #make: () => Promise<Blank>;
  readonly #clock: Clock;
  #spare: Promise<Blank> | undefined;
  #taken = 0;
  #cancelDiscard: () => void = () => undefined;

  constructor(make: () => Promise<Blank>, clock: Clock) {
    this.#make = make;
    this.#clock = clock;
  }

  async take(): Promise<Blank> {
    const spare = this.#spare;
    this.#spare = undefined;
    this.#cancelDiscard();
    const blank = (await spare?.catch(() => undefined)) ?? (await this.#make());
    blank.setup.setReferenced(true);
    this.#taken++;
    return blank;
  }

  /** Called when a sandbox is up: the first may be the only one, the second shows that more will come. */
  refill(): void {
    if (this.#taken >= 2) this.prepare();
  }

  prepare(): void {
    if (this.#spare !== undefined) return;
    this.#spare = this.#make().then((blank) => {
      blank.setup.setReferenced(false);
      return blank;
    });
    this.#spare.catch(() => undefined);
    this.#cancelDiscard = this.#clock.schedule(UNUSED_MS, () => void this.close(), { ref: false });
  }

  async close(): Promise<void> {
    const spare = this.#spare;
    this.#spare = undefined;
    this.#cancelDiscard();
    const blank = await spare?.catch(() => undefined);
    await blank?.discard();
  }
}
