/** One process: its clock, what it has sent, what it has not heard yet, and its death at any moment. */
import type { Clock } from '../../src/core/clock.ts';
import type { Chance } from './chance.ts';
import type { Host } from './host.ts';
import type { Planned, Timeline } from './timeline.ts';

export interface Identity {
  readonly hostId: string;
  readonly hostName: string;
  readonly bootId: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly pidStartedAt: number;
}

export class SimulatedProcess {
  readonly name: string;
  readonly host: Host;
  readonly identity: Identity;
  readonly clock: Clock;
  readonly chance: Chance;
  /** How far ahead of the true time its host's clock was when it began. */
  readonly aheadMs: number;
  readonly #timeline: Timeline;
  readonly #outgoing = new Set<Planned>();
  #held: (() => void)[] = [];
  #life: 'running' | 'frozen' | 'exited' | 'crashed' = 'running';
  readonly #freezes: { readonly from: number; until: number }[] = [];

  constructor(name: string, host: Host, timeline: Timeline, chance: Chance, isPidReused: boolean) {
    this.name = name;
    this.host = host;
    this.chance = chance;
    this.aheadMs = host.aheadMs;
    this.#timeline = timeline;
    this.identity = {
      hostId: host.id,
      hostName: host.id,
      bootId: host.bootId,
      pidNamespace: 'pid:[1]',
      ...host.nextPid(isPidReused),
    };
    this.clock = {
      now: () => host.now(),
      elapsed: () => host.elapsed(),
      schedule: (ms, callback) => this.receive(ms, callback),
    };
    host.add(this);
  }

  /** As the kernel sees it: a frozen process runs. */
  get isRunning(): boolean {
    return this.#life === 'running' || this.#life === 'frozen';
  }

  /** It ended without leaving in good order. */
  get isCrashed(): boolean {
    return this.#life === 'crashed';
  }

  get isFrozen(): boolean {
    return this.#life === 'frozen';
  }

  /** For how long it has not moved at a stretch, at most, between that instant and now. */
  longestFreezeSince(at: number): number {
    const lengths = this.#freezes.map(({ from, until }) => Math.min(until, this.#timeline.now) - Math.max(from, at));
    return Math.max(0, ...lengths);
  }

  /** Something leaves this process and arrives elsewhere; it arrives even when the process stands still. */
  send(afterMs: number, arrive: () => void): Planned {
    const planned = this.#timeline.plan(afterMs, () => {
      this.#outgoing.delete(planned);
      arrive();
    });
    this.#outgoing.add(planned);
    return planned;
  }

  /** Something happens inside this process: a timer, an answer. The returned function calls it off. */
  receive(afterMs: number, callback: () => void): () => void {
    let isOff = false;
    const happen = (): void => {
      if (isOff || !this.isRunning) return;
      if (this.#life === 'frozen') this.#held.push(happen);
      else callback();
    };
    const planned = this.#timeline.plan(afterMs, happen);
    return () => {
      isOff = true;
      planned.isOff = true;
    };
  }

  freeze(): void {
    if (this.#life !== 'running') return;
    this.#life = 'frozen';
    this.#freezes.push({ from: this.#timeline.now, until: Infinity });
  }

  /** Everything that came meanwhile comes at once. */
  thaw(): void {
    if (this.#life !== 'frozen') return;
    this.#life = 'running';
    const freeze = this.#freezes.at(-1);
    if (freeze !== undefined) freeze.until = this.#timeline.now;
    const held = this.#held;
    this.#held = [];
    for (const happen of held) this.#timeline.plan(this.chance.between(0, 2), happen);
  }

  /** Nothing of it ever runs again. Of what it has sent, some arrives and some does not. */
  crash(): void {
    this.#life = 'crashed';
    this.#held = [];
    for (const planned of this.#outgoing) if (this.chance.happens(0.5)) planned.isOff = true;
    this.#outgoing.clear();
  }

  /** It ended by itself. */
  exit(): void {
    this.#life = 'exited';
    this.#held = [];
  }
}
