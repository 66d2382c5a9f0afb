/** A sandbox this process has a handle on: its provider handle, and what is known of its activity, health and network. */
import { type GapSummary, isAdaptive, observeGap } from '../core/adaptive-idle.ts';
import type { NetworkFact } from '../core/network.ts';
import type { SandboxId } from '../core/ids.ts';
import { dueAt } from '../core/expiry.ts';
import type { SandboxHandle } from '../provider/provider.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Activity } from '../store/store.ts';

export class LiveSandbox {
  readonly id: SandboxId;
  /** As it was when this process last took it. */
  record: SandboxRecord;
  readonly handle: SandboxHandle;
  /** What the handle was made with; a caller who brings other variables gets them per command. */
  readonly env: Readonly<Record<string, string>>;
  network: NetworkFact;
  /** When its provider ends it by itself, and when this process last spoke of that. */
  deadManAt: number | undefined;
  deadManToldAt: number | undefined;
  isExtending = false;
  lastHealthyAt: number | undefined;
  /** Set when something hinted that the sandbox is gone or at rest: the next use asks, whatever the policy says. */
  isDoubted = false;
  /** This process paused or stopped it: it has to be woken before it is used. */
  isResting = false;
  /** Someone asked for it to run: it is not put away when this process leaves. */
  isKept = false;
  #lastActiveAt: number;
  #writtenAt: number;
  #gaps: GapSummary | undefined;
  #uses = 0;
  #isGone = false;
  readonly #gone = new AbortController();

  constructor(record: SandboxRecord, handle: SandboxHandle, env: Readonly<Record<string, string>>, now: number) {
    this.id = record.id;
    this.record = record;
    this.handle = handle;
    this.env = env;
    this.network = handle.network;
    this.deadManAt = handle.deadManAt;
    this.#lastActiveAt = now;
    this.#writtenAt = record.lastActiveAt;
    this.#gaps = record.gaps;
    this.#observe(now - record.lastActiveAt);
  }

  /** Between its uses, as far as this process knows. */
  get gaps(): GapSummary | undefined {
    return this.#gaps;
  }

  get isBusy(): boolean {
    return this.#uses > 0;
  }

  get lastActiveAt(): number {
    return this.#lastActiveAt;
  }

  get isDirty(): boolean {
    return this.#lastActiveAt > this.#writtenAt;
  }

  /** This process has let go of the handle. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Fires when this process lets go of the handle. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Something is going on until the returned function is called; calling it twice is harmless. */
  begin(now: () => number): () => void {
    this.active(now());
    this.#uses += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      // While it still counts as busy: what was busy has no gap behind it.
      this.active(now());
      this.#uses -= 1;
    };
  }

  active(at: number): void {
    if (at <= this.#lastActiveAt) return;
    if (!this.isBusy) this.#observe(at - this.#lastActiveAt);
    this.#lastActiveAt = at;
  }

  #observe(gapMs: number): void {
    if (isAdaptive(this.record.policy)) this.#gaps = observeGap(this.#gaps, gapMs);
  }

  /** What to write down, and from now on it counts as written. A busy sandbox is active as of now. */
  takeActivity(now: number): Activity {
    if (this.isBusy) this.active(now);
    this.#writtenAt = this.#lastActiveAt;
    const facts = { ...this.record, state: 'running' as const, lastActiveAt: this.#lastActiveAt, gaps: this.#gaps };
    return { sandboxId: this.id, lastActiveAt: this.#lastActiveAt, dueAt: dueAt(facts), gaps: this.#gaps };
  }

  async close(): Promise<void> {
    this.#isGone = true;
    // A reason of our own: the default is an error with a stack, which costs more than the rest of closing.
    this.#gone.abort('this process let go of the sandbox');
    await this.handle.close();
  }
}
