/** The event loop's worst delay while the engine has its hands full. */
import { closeSync, openSync, readSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { bareSpawn } from './bare-spawn.ts';
import type { Figure } from './figure.ts';
import { distribution } from './measure.ts';
import { withSublet } from './scratch-home.ts';

const COMMANDS = 50;
const SANDBOXES = 10;
const ROUNDS = 20;
const ECHO = ['/bin/echo', 'hi'];

/** Milliseconds. */
interface Delay {
  readonly worst: number;
  /** The worst one without the time in which the kernel had given the core to somebody else. */
  readonly own: number;
}

export async function measure(): Promise<readonly Figure[]> {
  return withSublet(async (sublet) => {
    const { commands } = await sublet.session({ user: 'bench', task: 'loop' });
    return [
      ...(await compareDelays(`loop: worst delay, ${COMMANDS} commands at once`, COMMANDS, () => commands.run(ECHO))),
      ...(await compareDelays(`loop: worst delay, ${SANDBOXES} creates at once`, SANDBOXES, () => sublet.run(ECHO))),
    ];
  });
}

async function compareDelays(name: string, count: number, work: () => Promise<unknown>): Promise<readonly Figure[]> {
  const ours: Delay[] = [];
  const raw: Delay[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    const delay = await worstDelay(count, work);
    const bare = await worstDelay(count, () => bareSpawn(ECHO));
    if (round < 0) continue;
    ours.push(delay);
    raw.push(bare);
  }
  const figure = (title: string, of: keyof Delay): Figure => ({
    name: title,
    unit: 'ms',
    ours: distribution(ours.map((each) => each[of])),
    raw: distribution(raw.map((each) => each[of])),
    against: `${count} bare spawns at once`,
    target: { of: 'max', atMost: 20 },
  });
  return [figure(name, 'worst'), figure(`${name}, less waiting for a core`, 'own')];
}

/** The worst delay is by whichever of two observers saw the longer one. */
async function worstDelay(count: number, work: () => Promise<unknown>): Promise<Delay> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  const schedule = openSync('/proc/thread-self/schedstat', 'r');
  let [worst, own] = [0, 0];
  let [last, lastWaited] = [performance.now(), waitedMs(schedule)];
  const interval = setInterval(() => {
    const [now, waited] = [performance.now(), waitedMs(schedule)];
    const delay = now - last - 1;
    worst = Math.max(worst, delay);
    own = Math.max(own, delay - (waited - lastWaited));
    [last, lastWaited] = [now, waited];
  }, 1);
  histogram.enable();
  await new Promise((resolve) => setTimeout(resolve, 5));
  await Promise.all(Array.from({ length: count }, work));
  await new Promise((resolve) => setTimeout(resolve, 5));
  histogram.disable();
  clearInterval(interval);
  closeSync(schedule);
  return { worst: Math.max(worst, histogram.max / 1e6 - 1), own };
}

/** How long this thread has been ready to run while others ran, since it began. */
function waitedMs(schedule: number): number {
  const text = Buffer.alloc(64);
  const bytes = readSync(schedule, text, 0, text.length, 0);
  return Number(text.toString('latin1', 0, bytes).split(' ')[1]) / 1e6;
}
