import { describe, expect, it } from 'vitest';
import type { CommandResult, RunOptions } from '../../core/commands.ts';
import { ManualClock } from '../../testing/manual-clock.ts';
import { runInTime } from './run-in-time.ts';

const RESULT: CommandResult = {
  exitCode: 0,
  stdout: '',
  stderr: '',
  durationMs: 0,
  timedOut: false,
  truncated: false,
  stdoutBytes: 0,
  stderrBytes: 0,
};

function begin(options: RunOptions): {
  readonly clock: ManualClock;
  readonly bring: (shell: string) => void;
  readonly running: Promise<CommandResult>;
  readonly ran: RunOptions[];
  readonly discarded: string[];
} {
  const clock = new ManualClock();
  let bring: (shell: string) => void = () => undefined;
  const getting = new Promise<string>((resolve) => (bring = resolve));
  const [ran, discarded]: [RunOptions[], string[]] = [[], []];
  const running = runInTime(getting, options, clock, {
    run: async (_shell, left) => {
      ran.push(left);
      return RESULT;
    },
    discard: (shell) => void discarded.push(shell),
  });
  return { clock, bring, running, ran, discarded };
}

describe('a command that waits for its shell', () => {
  it('has the time that is left', async () => {
    const { clock, bring, running, ran } = begin({ timeoutMs: 100 });
    await clock.advance(30);
    bring('shell');
    expect(await running).toBe(RESULT);
    expect(ran).toEqual([{ timeoutMs: 70 }]);
    expect(clock.pending).toBe(0);
  });

  it('times out, and what comes later is discarded', async () => {
    const { clock, bring, running, ran, discarded } = begin({ timeoutMs: 100 });
    await clock.advance(100);
    expect(await running).toMatchObject({ timedOut: true, exitCode: null, durationMs: 100 });
    bring('late');
    await clock.advance(0);
    expect({ ran, discarded }).toEqual({ ran: [], discarded: ['late'] });
  });

  it('is aborted, and what comes later is discarded', async () => {
    const stop = new AbortController();
    const { clock, bring, running, ran, discarded } = begin({ signal: stop.signal });
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
    bring('late');
    await clock.advance(0);
    expect({ ran, discarded }).toEqual({ ran: [], discarded: ['late'] });
  });
});
