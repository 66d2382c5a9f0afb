/** A simulated machine: its time of day can be set, its kernel knows its processes, and it can be started anew. */
import type { SimulatedProcess } from './simulated-process.ts';
import type { Timeline } from './timeline.ts';

const EPOCH = Date.UTC(2030, 0, 1);

export class Host {
  readonly id: string;
  readonly #timeline: Timeline;
  readonly #processes: SimulatedProcess[] = [];
  #aheadMs = 0;
  #boots = 1;
  #bootedAt = 0;
  #lastPid = 100;

  constructor(id: string, timeline: Timeline) {
    this.id = id;
    this.#timeline = timeline;
  }

  get bootId(): string {
    return `${this.id}-boot-${this.#boots}`;
  }

  get processes(): readonly SimulatedProcess[] {
    return this.#processes;
  }

  /** How far its time of day is ahead of the true time. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** The time of day here. */
  now(): number {
    return EPOCH + this.#timeline.now + this.#aheadMs;
  }

  elapsed(): number {
    return this.#timeline.now - this.#bootedAt;
  }

  /** Somebody sets the clock, or a time server does. */
  setClock(byMs: number): void {
    this.#aheadMs += byMs;
  }

  /** Every process of the present boot is dead before this is called. */
  reboot(): void {
    this.#boots += 1;
    this.#bootedAt = this.#timeline.now;
    this.#lastPid = 100;
  }

  /** A pid and a start time for a process that begins now. `isReused`: the pid of one that has ended. */
  nextPid(isReused: boolean): { readonly pid: number; readonly pidStartedAt: number } {
    const ended = isReused ? this.#processes.findLast((process) => !process.isRunning) : undefined;
    const pid = ended?.identity.pid ?? ++this.#lastPid;
    return { pid, pidStartedAt: this.elapsed() + this.#processes.length };
  }

  add(process: SimulatedProcess): void {
    this.#processes.push(process);
  }

  /** What the kernel answers. A stopped process runs; a reused pid with another start time is another process. */
  isRunning(asked: { readonly pid: number; readonly pidStartedAt: number }): boolean {
    return this.#processes.some(
      ({ identity, isRunning }) =>
        isRunning &&
        identity.bootId === this.bootId &&
        identity.pid === asked.pid &&
        identity.pidStartedAt === asked.pidStartedAt,
    );
  }
}
