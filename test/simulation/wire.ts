/**
 * The way between a process and everything else. A call takes effect at one instant and is answered at a later one, so
 * that a death falls before the effect, between effect and answer, or after.
 */
import { abortedError } from '../../src/core/errors.ts';
import type { Simulation } from './simulation.ts';
import type { SimulatedProcess } from './simulated-process.ts';

export interface Call<T> {
  readonly to: 'store' | 'provider' | 'box';
  readonly what: string;
  /** For the trace. */
  readonly about?: string | undefined;
  /** The signal is there when the call has one. */
  readonly perform: (signal: AbortSignal | undefined) => Promise<T>;
  readonly signal?: AbortSignal | undefined;
  /** What is said when it was not done. */
  readonly refusal: () => Error;
}

export type Outcome =
  | 'answered'
  /** Not done, and says so. */
  | 'refused'
  /** Done, and says that it failed. */
  | 'answer-lost'
  /** Says that it failed, and is done later. */
  | 'done-late'
  /** Never answered; done or not. */
  | 'silent-done'
  | 'silent';

export interface Fate {
  readonly outcome: Outcome;
  readonly outMs: number;
  readonly backMs: number;
  readonly lateMs: number;
  /** An abort does not reach it. */
  readonly isDeaf: boolean;
}

export function ask<T>(simulation: Simulation, process: SimulatedProcess, call: Call<T>): Promise<T> {
  const fate = simulation.climate.fateOf(call);
  const askedAt = simulation.timeline.now;
  const inner = call.signal === undefined ? undefined : new AbortController();
  return new Promise((resolve, reject) => {
    const answer = (text: string, settle: () => void): void => {
      process.receive(fate.backMs, () => {
        call.signal?.removeEventListener('abort', onAbort);
        simulation.trace.note(process.name, () => `${call.what} ${call.about ?? ''} → ${text}`);
        settle();
      });
    };
    const arrive = (): void => {
      if (fate.outcome === 'refused') {
        answer('refused', () => reject(call.refusal()));
        return;
      }
      simulation.askedAt = askedAt;
      simulation.isDoneLate = fate.outcome === 'done-late';
      const done = simulation.actingFor(process, () => call.perform(inner?.signal));
      simulation.trace.note('        ', () => `${process.name}'s ${call.what} ${call.about ?? ''} takes effect`);
      if (fate.outcome === 'answer-lost') answer('answer lost', () => reject(call.refusal()));
      done.then(
        (value) => fate.outcome === 'answered' && answer('ok', () => resolve(value)),
        (cause: unknown) => fate.outcome === 'answered' && answer(String(cause), () => reject(cause)),
      );
    };
    const onAbort = (): void => {
      if (fate.isDeaf) return;
      sent.isOff = true;
      inner?.abort(call.signal?.reason);
      answer('aborted', () => reject(abortedError(call.signal as AbortSignal)));
    };
    const isLate = fate.outcome === 'done-late';
    if (isLate) answer('failed, to be done late', () => reject(call.refusal()));
    const outMs = fate.outMs + (isLate ? fate.lateMs : 0);
    const sent = process.send(outMs, fate.outcome === 'silent' ? () => {} : arrive);
    if (call.signal?.aborted === true) onAbort();
    else call.signal?.addEventListener('abort', onAbort, { once: true });
  });
}
