/** The slots of one container as this process holds them: taken for a command, given back, kept ready, let go when idle. */
import { type Clock, sleep } from '../../core/clock.ts';
import type { ShellSlot } from './shell-slot.ts';

/** After a burst of commands side by side, this many slots stay. */
const MAX_IDLE = 4;
const REST_AFTER_MS = 60_000;
/** A waiting shell ends within milliseconds, unless its container is frozen already or its engine hangs. */
const LEAVE_WITHIN_MS = 1_000;

export interface SlotPoolOptions {
  readonly clock: Clock;
  open(once: boolean): Promise<ShellSlot>;
}

export class SlotPool {
  readonly #options: SlotPoolOptions;
  readonly #idle: ShellSlot[] = [];
  #first: Promise<ShellSlot> | undefined;
  /** For a command with input, once such commands have shown up. */
  #spareForInput: Promise<ShellSlot> | undefined;
  #inputs = 0;
  #cancelRest: () => void = () => undefined;

  /** `first` is a slot that came with the container. */
  constructor(options: SlotPoolOptions, first?: Promise<ShellSlot>) {
    this.#options = options;
    this.#first = first;
    first?.catch(() => undefined);
  }

  async take(): Promise<ShellSlot> {
    this.#cancelRest();
    for (let slot = this.#idle.pop(); slot !== undefined; slot = this.#idle.pop()) {
      if (slot.isOpen) return slot;
      slot.close();
    }
    const first = this.#first;
    this.#first = undefined;
    const slot = await first?.catch(() => undefined);
    return slot?.isOpen === true ? slot : this.#options.open(false);
  }

  /** A slot for one command that has input. */
  async takeForInput(): Promise<ShellSlot> {
    this.#cancelRest();
    const taken = this.#spareForInput;
    this.#spareForInput = undefined;
    const spare = await taken?.catch(() => undefined);
    const slot = spare?.isOpen === true ? spare : await this.#options.open(true);
    // The first may be the only one: only a second shows that more will come.
    this.#inputs++;
    if (this.#inputs > 1 && this.#spareForInput === undefined) {
      this.#spareForInput = this.#options.open(true);
      this.#spareForInput.catch(() => undefined);
    }
    return slot;
  }

  giveBack(slot: ShellSlot): void {
    if (slot.isOpen && this.#idle.length < MAX_IDLE) this.#idle.push(slot);
    else slot.close();
    this.#cancelRest();
    this.#cancelRest = this.#options.clock.schedule(REST_AFTER_MS, () => this.close(), { ref: false });
  }

  /** As `close`, and resolves when none of them is there any more, or none has ended for a while. */
  async leave(): Promise<void> {
    this.#cancelRest();
    const waiting = [...this.#idle.splice(0), this.#first, this.#spareForInput];
    this.#first = undefined;
    this.#spareForInput = undefined;
    await Promise.all(waiting.map(async (slot) => this.#leave(await Promise.resolve(slot).catch(() => undefined))));
  }

  async #leave(slot: ShellSlot | undefined): Promise<void> {
    if (slot === undefined) return;
    const over = new AbortController();
    const patience = sleep(this.#options.clock, LEAVE_WITHIN_MS, over.signal).catch(() => undefined);
    await Promise.race([slot.leave(), patience]);
    over.abort();
    slot.close();
  }

  /** Ends the waiting shells; commands that run go on, and the next one opens a slot anew. */
  close(): void {
    this.#cancelRest();
    for (const slot of this.#idle.splice(0)) slot.close();
    for (const slot of [this.#first, this.#spareForInput])
      void slot?.then((open) => open.close()).catch(() => undefined);
    this.#first = undefined;
    this.#spareForInput = undefined;
  }
}
