/** A command in a sandbox made for it and destroyed after it. */
import type { Sublet } from 'sublet';
import { bareSpawn, whyNot } from './bare-spawn.ts';
import type { Figure, Result } from './figure.ts';
import { compare, distribution, mapDistribution, time } from './measure.ts';
import { withSublet } from './scratch-home.ts';

const ECHO = ['/bin/echo', 'hi'];
const ROUNDS = 100;
const DOCKER_ROUNDS = 10;
const AT_ONCE = 10;

// The nearest to our sandbox that it makes: every namespace, the system's directories read-only, a /proc, a /dev and a
// place to write.
const BWRAP = [
  'bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL --ro-bind /usr /usr --ro-bind /etc /etc',
  '--symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/sbin /sbin',
  '--proc /proc --dev /dev --tmpfs /tmp --tmpfs /workspace --chdir /workspace --clearenv --',
].flatMap((line) => line.split(' '));

export async function measure(): Promise<readonly Result[]> {
  const results: Result[] = [];
  const noBwrap = await whyNot([...BWRAP, ...ECHO]);
  await withSublet(async (sublet) => {
    results.push(noBwrap === undefined ? await againstBwrap(sublet) : await againstSpawn(sublet, noBwrap));
    results.push(await atOnce(sublet, noBwrap === undefined ? BWRAP : []));
    results.push(await againstDocker(sublet));
  });
  return results;
}

async function againstBwrap(sublet: Sublet): Promise<Figure> {
  const times = await compare({
    ours: () => sublet.run(ECHO),
    raw: () => bareSpawn([...BWRAP, ...ECHO]),
    rounds: ROUNDS,
  });
  return {
    name: 'create, run echo, destroy',
    unit: 'ms',
    ...times,
    against: 'bwrap … echo',
    target: { of: 'ratio', atMost: 3 },
  };
}

async function againstSpawn(sublet: Sublet, noBwrap: string): Promise<Figure> {
  const times = await compare({ ours: () => sublet.run(ECHO), raw: () => bareSpawn(ECHO), rounds: ROUNDS });
  return {
    name: 'create, run echo, destroy',
    unit: 'ms',
    ...times,
    against: `a bare spawn of echo (no bwrap: ${noBwrap})`,
    target: { of: 'ratio', atMost: 10 },
  };
}

async function atOnce(sublet: Sublet, prefix: readonly string[]): Promise<Figure> {
  const many = (work: () => Promise<unknown>) => () => Promise.all(Array.from({ length: AT_ONCE }, work));
  const { ours, raw } = await compare({
    ours: many(() => sublet.run(ECHO)),
    raw: many(() => bareSpawn([...prefix, ...ECHO])),
    rounds: 20,
  });
  const perSecond = (ms: number): number => (AT_ONCE * 1000) / ms;
  return {
    name: `the same, ${AT_ONCE} at once`,
    unit: '/s',
    ours: mapDistribution(ours, perSecond),
    raw: mapDistribution(raw, perSecond),
    against: `${prefix.length > 0 ? 'bwrap … echo' : 'a bare spawn of echo'}, ${AT_ONCE} at once`,
  };
}

async function againstDocker(sublet: Sublet): Promise<Result> {
  const name = 'create, run echo, destroy';
  const host = process.env['SUBLET_BENCH_DOCKER_HOST'] ?? process.env['SUBLET_TEST_DOCKER_HOST'];
  const image = process.env['SUBLET_BENCH_DOCKER_IMAGE'] ?? process.env['SUBLET_TEST_DOCKER_IMAGE'] ?? 'busybox';
  if (host === undefined) return { name, reason: 'docker run --rm: SUBLET_BENCH_DOCKER_HOST names no engine' };
  const docker = ['docker', '--host', host, 'run', '--rm', '--network', 'none', image, ...ECHO];
  const reason = await whyNot(docker);
  if (reason !== undefined) return { name, reason: `docker run --rm: ${reason}` };
  const ours: number[] = [];
  const raw: number[] = [];
  for (let round = 0; round < DOCKER_ROUNDS; round++) {
    // By fives, because one of ours is over before the engine's last container has calmed down.
    for (let turn = 0; turn < 5; turn++) ours.push(await time(() => sublet.run(ECHO)));
    raw.push(await time(() => bareSpawn(docker)));
  }
  return {
    name,
    unit: 'ms',
    ours: distribution(ours),
    raw: distribution(raw),
    against: 'docker run --rm … echo',
    target: { of: 'ratio', atMost: 0.1 },
  };
}
