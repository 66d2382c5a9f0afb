/** The event loop's worst delay while the engine has its hands full. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { bareSpawn } from './bare-spawn.ts';
import type { Figure } from './figure.ts';
import { distribution } from './measure.ts';
import { withSublet } from './scratch-home.ts';

const COMMANDS = 50;
const SANDBOXES = 10;
const ROUNDS = 20;
const ECHO = ['/bin/echo', 'hi'];

export async function measure(): Promise<readonly Figure[]> {
  return withSublet(async (sublet) => {
    const { commands } = await sublet.session({ user: 'bench', task: 'loop' });
    return [
      await compareDelays(`loop: worst delay, ${COMMANDS} commands at once`, COMMANDS, () => commands.run(ECHO)),
      await compareDelays(`loop: worst delay, ${SANDBOXES} creates at once`, SANDBOXES, () => sublet.run(ECHO)),
    ];
  });
}

async function compareDelays(name: string, count: number, work: () => Promise<unknown>): Promise<Figure> {
  const ours: number[] = [];
  const raw: number[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    const delay = await worstDelay(count, work);
    const bare = await worstDelay(count, () => bareSpawn(ECHO));
    if (round < 0) continue;
    ours.push(delay);
    raw.push(bare);
  }
  return {
    name,
    unit: 'ms',
    ours: distribution(ours),
    raw: distribution(raw),
    against: `${count} bare spawns at once`,
    target: { of: 'max', atMost: 20 },
  };
}

/** Milliseconds, by whichever of two observers saw the longer one. */
async function worstDelay(count: number, work: () => Promise<unknown>): Promise<number> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  let worst = 0;
  let last = performance.now();
  const interval = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 1);
    last = now;
  }, 1);
  histogram.enable();
  await new Promise((resolve) => setTimeout(resolve, 5));
  await Promise.all(Array.from({ length: count }, work));
  await new Promise((resolve) => setTimeout(resolve, 5));
  histogram.disable();
  clearInterval(interval);
  return Math.max(worst, histogram.max / 1e6 - 1);
}
