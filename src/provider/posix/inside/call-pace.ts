/** How long a program is waited for before its output is taken while it runs: longer where calls take long. */

/** For the program itself. */
const PROGRAM_MS = 200;
/** For its call at most, so that the first output of a program that goes on is not late. */
const MAX_CALL_MS = 500;

export class CallPace {
  #callMs = 0;

  get patienceMs(): number {
    return PROGRAM_MS + Math.min(this.#callMs, MAX_CALL_MS);
  }

  /** What one call took, with no more than a quick program in it. The newest counts as much as all before. */
  note(callMs: number): void {
    this.#callMs = (this.#callMs + callMs) / 2;
  }
}
