/** Ten thousand commands in one container: what grows, here and in the engine. */
import { readdir } from 'node:fs/promises';
import { bareSpawn } from './bare-spawn.ts';
import { openProvider, specFor } from './docker-provider.ts';
import type { Figure, Result } from './figure.ts';
import { distribution, single, time } from './measure.ts';
import { benchEngine, type EngineTarget, RawEngine } from './raw-engine.ts';

const COMMANDS = 10_000;
/** What is there after these is what there should be after all. */
const FIRST = 1_000;
const MIB = 1024 * 1024;
const signal = new AbortController().signal;

export async function measure(): Promise<readonly Result[]> {
  const target = benchEngine();
  if (target === undefined) {
    return [{ name: 'docker-endurance', reason: 'SUBLET_BENCH_DOCKER_HOST names no engine on a socket' }];
  }
  const raw = new RawEngine(target);
  const provider = await openProvider(target);
  const spec = specFor(target);
  try {
    const { commands } = await provider.create(spec, signal);
    const run = async (count: number): Promise<number[]> => {
      const times: number[] = [];
      for (let index = 0; index < count; index++) times.push(await time(() => commands.run('echo hi')));
      return times;
    };
    const first = await run(FIRST);
    const before = await holdings(target, raw, spec.name);
    const last = (await run(COMMANDS - FIRST)).slice(-FIRST);
    const after = await holdings(target, raw, spec.name);
    const against = `the same after ${FIRST.toLocaleString('en-US')}`;
    const counted = (name: string, key: 'execs' | 'descriptors' | 'engineDescriptors'): Figure => ({
      name: `docker: ${name} after 10,000 commands`,
      unit: 'of them',
      ours: single(after[key] ?? NaN),
      raw: single(before[key] ?? NaN),
      against,
      target: { of: 'ratio', atMost: 1 },
    });
    return [
      {
        name: 'docker: a command, the last of 10,000',
        unit: 'ms',
        ours: distribution(last),
        raw: distribution(first),
        against: 'the first',
        target: { of: 'ratio', atMost: 1.2 },
      },
      counted('exec instances', 'execs'),
      counted('our descriptors', 'descriptors'),
      after.engineDescriptors === undefined
        ? { name: 'docker: the engine’s descriptors', reason: 'its process is not this machine’s to look at' }
        : counted('the engine’s descriptors', 'engineDescriptors'),
      {
        name: 'docker: our heap after 10,000 commands',
        unit: 'MiB',
        ours: single(after.heapMib),
        raw: single(before.heapMib),
        against,
        target: { of: 'ratio', atMost: 1.2 },
      },
    ];
  } finally {
    await provider.destroy({ name: spec.name }, signal);
    await provider.close();
    raw.close();
  }
}

interface Holdings {
  readonly execs: number;
  readonly descriptors: number;
  /** undefined when the engine is elsewhere or another user's. */
  readonly engineDescriptors: number | undefined;
  readonly heapMib: number;
}

async function holdings(target: EngineTarget, raw: RawEngine, name: string): Promise<Holdings> {
  // First, because its connection is kept and counts.
  const execs = await raw.execCount(name);
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const descriptors = (await readdir('/proc/self/fd')).length;
  const engineDescriptors = await engineDescriptorsOf(target.socketPath);
  return { execs, descriptors, engineDescriptors, heapMib: (heapUsed + external) / MIB };
}

/** Those of the process that listens on the socket, and of the helper it started. */
async function engineDescriptorsOf(socketPath: string): Promise<number | undefined> {
  const find = 'ss -Hlxp "src = $1" | sed -n "s/.*pid=\\([0-9]*\\).*/\\1/p" | head -n 1';
  const pid = (await bareSpawn(['sh', '-c', find, 'sh', socketPath]).catch(() => '')).trim();
  if (pid === '') return undefined;
  const count = 'for p in $1 $(cat /proc/$1/task/*/children); do ls /proc/$p/fd; done | wc -l';
  return Number(await bareSpawn(['sh', '-c', count, 'sh', pid]));
}
