/**
 * Runs a command whose end nobody tells, in a process that has no descriptor left when it is first looked for, and some again
 * at the second look. Prints how it ended. $1 is the state directory.
 */
import { closeSync, openSync } from 'node:fs';
import type { Clock } from '../../core/clock.ts';
import { systemClock } from '../../core/system-clock.ts';
import { provider as module } from './index.ts';

const [FIRST_LOOK_MS, SECOND_LOOK_MS] = [2_000, 4_000];
const held: number[] = [];

function holdAll(): void {
  try {
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch {
    // That was the last.
  }
}

const clock: Clock = {
  ...systemClock,
  schedule: (ms, callback, options) => {
    if (ms === SECOND_LOOK_MS) for (const fd of held.splice(0)) closeSync(fd);
    const look = (): void => {
      if (ms === FIRST_LOOK_MS) holdAll();
      callback();
    };
    return systemClock.schedule(ms === SECOND_LOOK_MS ? 0 : ms, look, options);
  },
};
const log = { debug() {}, info() {}, warn() {} };
const stateDir = process.argv[2] ?? '';
const provider = await module.open({ stateDir, clock, log, options: {}, secret: () => undefined });
const never = new AbortController().signal;
const spec = { name: 'sublet-short', labels: {}, kind: 'execution', network: 'none', ephemeral: true } as const;
const { commands, ref } = await provider.create(spec, never);
const { stdout, exitCode } = await commands.run('kill -STOP $PPID; echo done');
await provider.destroy(ref, never);
await provider.close();
process.stdout.write(JSON.stringify({ stdout, exitCode }));
