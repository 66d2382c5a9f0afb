/** Kills many processes on one home at random moments, lets recovery do its work, and looks at what is left. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { open } from 'sublet';
import { compileFixtures, type Fixtures } from './compile-fixtures.ts';
import { type HomeProcess, processesOf, watchdogsOf } from './home-processes.ts';
import { shiftingClock } from './shifting-clock.ts';
import { findLeftovers, findUnrecovered, thawAll } from './leftovers.ts';
import type { NeighbourReport } from './neighbour.fixture.ts';
import { pick, type Random, seededRandom } from './random.ts';
import { type CrashService, SERVICES } from './services.ts';
import type { VictimOrders } from './victim.fixture.ts';

export interface CrashOptions {
  readonly kills: number;
  readonly seed: number;
  readonly provider: string;
  /** The address of a server; the home's own file without it. */
  readonly store?: string | undefined;
  readonly atOnce: number;
  readonly network: readonly ('none' | 'open')[];
}

export interface CrashReport {
  readonly kills: number;
  /** How they died, and what was to see to it. */
  readonly ways: Readonly<Record<string, number>>;
  readonly madeInAll: number;
  /** From the last kill until the last watchdog was done. */
  readonly watchdogsMs: number;
  /** One reap of a fresh process after that. */
  readonly reapMs: number;
  readonly neighbourLooks: number;
  /** Everything that is not as it must be. */
  readonly faults: readonly string[];
}

const NEIGHBOURS = 2;
const LONGEST_LIFE_MS = 1_200;
const FIRST_STEPS = 500;
/** Who has not come to its step by then is killed all the same. */
const LONGEST_PATIENCE_MS = 8_000;
const GRACE_MS = 3 * 60_000;
/** A watchdog tries for three minutes. */
const WATCHDOGS_WITHIN_MS = 4 * 60_000;
/** So often in a row nothing is seen of them: one that is becoming another program shows nothing of itself for a moment. */
const LOOKS = 10;
const LIBRARY = pathToFileURL(path.resolve(import.meta.dirname, '../../dist/index.js')).href;

export async function crash(options: CrashOptions): Promise<CrashReport> {
  const root = await mkdtemp(path.join(tmpdir(), 'sublet-crash-'));
  await chmod(root, 0o755);
  const home = path.join(root, 'home');
  const scene: Scene = {
    ...options,
    home,
    service: await SERVICES[options.provider]?.(home),
    fixtures: await compileFixtures(root),
    random: seededRandom(options.seed),
    faults: [],
    ways: {},
  };
  const neighbours: ChildProcess[] = [];
  try {
    for (let number = 0; number < NEIGHBOURS; number++) neighbours.push(await startNeighbour(scene, number));
    await killAll(scene);
    return await lookAfterwards(scene, neighbours);
  } finally {
    for (const neighbour of neighbours) neighbour.kill('SIGKILL');
    await scene.service?.close();
    await thawAll(scene.home);
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

interface Scene extends CrashOptions {
  readonly home: string;
  /** Where sandboxes are not of this machine. */
  readonly service: CrashService | undefined;
  readonly fixtures: Fixtures;
  readonly random: Random;
  readonly faults: string[];
  readonly ways: Record<string, number>;
}

async function startNeighbour(scene: Scene, number: number): Promise<ChildProcess> {
  const orders = JSON.stringify({ number, provider: scene.provider });
  const child = fork(scene.fixtures.neighbour, [LIBRARY, orders], { env: environment(scene), execArgv: [] });
  const early = once(child, 'exit').then(() => Promise.reject(new Error(`Neighbour ${number} ended early.`)));
  await Promise.race([once(child, 'message'), early]);
  early.catch(() => undefined);
  return child;
}

/** A few at a time, all the time. */
async function killAll(scene: Scene): Promise<void> {
  let left = scene.kills;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await killOne(scene);
  };
  await Promise.all(Array.from({ length: scene.atOnce }, lane));
}

async function killOne(scene: Scene): Promise<void> {
  const { random, fixtures } = scene;
  const longestLifeMs = scene.service?.longestLifeMs ?? LONGEST_LIFE_MS;
  const when = pick(random, ['at a moment', 'at a step', 'at a step'] as const);
  const watchdog = pick(random, ['watched', 'watched', 'watchdog killed too', 'no watchdog'] as const);
  const orders: VictimOrders = {
    seed: Math.floor(random() * 2 ** 31),
    provider: scene.provider,
    watchdog: watchdog !== 'no watchdog',
    network: scene.network,
  };
  // Early steps are taken by every process, late ones by few: more of the former.
  const step = String(1 + Math.floor(random() ** 2 * FIRST_STEPS));
  const lifeMs = random() * longestLifeMs;
  const env = { ...environment(scene), ...(when === 'at a step' ? { SUBLET_TEST_DIES_AT: step } : {}) };
  const preload = when === 'at a step' ? ['--import', fixtures.failpoint] : [];
  const child = spawn(process.execPath, [...preload, fixtures.victim, LIBRARY, JSON.stringify(orders)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  await Promise.race([ended, until(() => said.startsWith('ready\n'))]);
  const patienceMs = Math.min(4 * longestLifeMs, LONGEST_PATIENCE_MS);
  await Promise.race([ended, delay(when === 'at a moment' ? lifeMs : patienceMs)]);
  if (watchdog === 'watchdog killed too') await killWatchdogs(scene.home, child.pid ?? 0);
  child.kill('SIGKILL');
  const [code, signal] = (await ended) as [number | null, string | null];
  if (signal !== 'SIGKILL') scene.faults.push(`a victim ended by itself: ${code ?? signal}\n${said}`);
  for (const line of said.split('\n').filter((each) => each.startsWith('fault'))) scene.faults.push(line);
  const way = `${when}, ${watchdog}`;
  scene.ways[way] = (scene.ways[way] ?? 0) + 1;
}

async function killWatchdogs(home: string, ownerPid: number): Promise<void> {
  for (const { pid, parentPid } of await watchdogsOf(home)) if (parentPid === ownerPid) process.kill(pid, 'SIGKILL');
}

async function lookAfterwards(scene: Scene, neighbours: readonly ChildProcess[]): Promise<CrashReport> {
  const { home, provider, faults, kills, ways, service } = scene;
  const living = neighbours.map(({ pid }) => pid);
  const startedAt = performance.now();
  const others = async (): Promise<readonly HomeProcess[]> =>
    (await processesOf(home)).filter(
      ({ pid, parentPid }) => !living.includes(pid) && !living.includes(parentPid) && pid !== process.pid,
    );
  let looks = 0;
  await until(async () => {
    looks = (await others()).length === 0 ? looks + 1 : 0;
    return looks === LOOKS;
  }, WATCHDOGS_WITHIN_MS);
  for (const { pid, args } of await others()) faults.push(`process ${pid} does not end: ${args.join(' ')}`);
  const watchdogsMs = performance.now() - startedAt;
  const clock = shiftingClock();
  const env = { ...environment(scene), SUBLET_SANDBOX: provider };
  const sublet = await open({ home, env, clock, handleSignals: false });
  const reapAt = performance.now();
  await sublet.reap();
  const reapMs = performance.now() - reapAt;
  // What another process may just be at is looked at again after a while.
  clock.shift(GRACE_MS);
  const report = await sublet.reap();
  for (const { provider: id, error } of report.providers) if (error !== undefined) faults.push(`${id}: ${error}`);
  for (const { name, error } of report.verdicts) if (error !== undefined) faults.push(`${name}: ${error}`);
  faults.push(...(await findUnrecovered(scene, provider, report, service?.access)));
  const reports = await Promise.all(neighbours.map(finishNeighbour));
  for (const [index, { faults: seen }] of reports.entries())
    faults.push(...seen.map((fault) => `neighbour ${index}: ${fault}`));
  await sublet.destroyAllSessions();
  await sublet.close();
  faults.push(...((await service?.faults()) ?? []));
  await service?.close();
  const { faults: left, madeInAll } = await findLeftovers(scene);
  faults.push(...left);
  return {
    kills,
    ways,
    madeInAll,
    watchdogsMs,
    reapMs,
    neighbourLooks: reports.reduce((sum, { looks }) => sum + looks, 0),
    faults,
  };
}

async function finishNeighbour(child: ChildProcess): Promise<NeighbourReport> {
  const answer = once(child, 'message');
  if (child.connected) child.send('over');
  const isOver = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve();
  const ended = isOver.then(() => [{ faults: ['it has ended'], looks: 0 }]);
  const [report] = (await Promise.race([answer, ended])) as [NeighbourReport];
  await ended;
  return report;
}

function environment({ home, store, service }: Scene): Record<string, string> {
  const own = { PATH: process.env['PATH'] ?? '', HOME: path.dirname(home), SUBLET_HOME: home, ...service?.env };
  return store === undefined ? own : { ...own, SUBLET_STORE: store };
}

async function until(fact: () => boolean | Promise<boolean>, limitMs = Infinity): Promise<void> {
  const startedAt = performance.now();
  while (!(await fact()) && performance.now() - startedAt < limitMs) await delay(10);
}
