/** What happened, line by line: when, in which process, what. Off unless asked for: seeds are run again to be read. */
import type { Timeline } from './timeline.ts';

export class Trace {
  readonly lines: string[] = [];
  readonly #timeline: Timeline;
  readonly isOn: boolean;

  constructor(timeline: Timeline, isOn: boolean) {
    this.#timeline = timeline;
    this.isOn = isOn;
  }

  note(who: string, text: () => string): void {
    if (!this.isOn) return;
    const at = (this.#timeline.now / 1000).toFixed(3).padStart(10);
    this.lines.push(`${at} s  ${who.padEnd(8)}  ${text()}`);
  }
}
