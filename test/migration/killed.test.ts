/** Real processes, killed with SIGKILL while they move a session: between random steps and at random moments. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, type Sublet } from '../../src/index.ts';
import { compileFixture } from '../crash/compile-fixtures.ts';
import { pick, seededRandom } from '../crash/random.ts';
import { shiftingClock } from '../crash/shifting-clock.ts';
import { requirement } from '../setup/requirements.ts';
import { LIST_FILES, MAKE_ODD_FILES } from './odd-files.ts';

const LIBRARY = pathToFileURL(path.resolve(import.meta.dirname, '../../dist/index.js')).href;
const KILLS = 16;
const LONGEST_LIFE_MS = 2_500;
const MOST_STEPS = 120;
const LEASE_MS = 10_000;

describe.runIf(await requirement('namespace'))('a process that is killed while it moves a session', () => {
  let root = '';
  let home = '';
  let mover = '';
  let failpoint = '';

  beforeAll(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'sublet-moved-'));
    home = path.join(root, 'home');
    await mkdir(path.join(home, 'sandboxes'), { recursive: true });
    for (const name of ['here', 'there'])
      await writeFile(path.join(home, 'sandboxes', `${name}.json`), JSON.stringify({ provider: 'namespace' }));
    mover = await compileFixture(path.join(import.meta.dirname, 'mover.fixture.ts'), root);
    failpoint = await compileFixture(path.join(import.meta.dirname, '../crash/failpoint.fixture.ts'), root);
  });

  afterAll(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));

  it('leaves the session in one place with all its files, and nothing else', { timeout: 10 * 60_000 }, async () => {
    const before = await withSublet(async (sublet) => {
      const session = await sublet.session({ task: 'moved', sandbox: 'here', policy: { autoStopMinutes: 0 } });
      expect(await session.commands.run(['bash', '-c', MAKE_ODD_FILES])).toMatchObject({ exitCode: 0 });
      return listing(sublet);
    });
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = seededRandom(seed);
    const places = new Set<string>();
    for (let kill = 0; kill < KILLS; kill++) {
      const when = pick(random, ['step', 'moment'] as const);
      const at = Math.ceil(random() * (when === 'step' ? MOST_STEPS : LONGEST_LIFE_MS));
      const story = `seed ${seed}, kill ${kill}: ${when} ${at}`;
      const to = await withSublet(async (sublet) => ((await profileOf(sublet)) === 'here' ? 'there' : 'here'));
      const said = await move(to, when, at);
      await withSublet(async (sublet) => {
        await sublet.reap();
        const live = await sublet.sandboxes.list({ sessionKey: 'execution:anonymous:moved' });
        expect(
          live.map(({ state }) => state),
          `${story}\n${said}`,
        ).toHaveLength(1);
        expect(await inProvider(), story).toEqual([live[0]?.name]);
        expect(await listing(sublet), story).toBe(before);
        if (said.includes('moved\n')) expect(await profileOf(sublet), story).toBe(to);
        places.add(await profileOf(sublet));
      });
    }
    expect(places.size).toBeGreaterThan(0);
    await withSublet(async (sublet) => sublet.destroyAllSessions());
    expect(await inProvider()).toEqual([]);
  });

  async function move(to: string, when: 'step' | 'moment', at: number): Promise<string> {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: root,
      SUBLET_HOME: home,
      ...(when === 'step' ? { SUBLET_TEST_DIES_AT: String(at) } : {}),
    };
    const preload = when === 'step' ? ['--import', failpoint] : [];
    const child = spawn(process.execPath, [...preload, mover, LIBRARY, to], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    const output = text(child.stdout);
    if (when === 'moment') {
      await Promise.race([once(child.stdout, 'data'), ended]);
      await Promise.race([delay(at), ended]);
      child.kill('SIGKILL');
    }
    await ended;
    return output;
  }

  async function withSublet<T>(work: (sublet: Sublet) => Promise<T>): Promise<T> {
    const clock = shiftingClock();
    await using sublet = await open({ home, handleSignals: false, watchdog: false, clock });
    // The lease of a mover that was killed has an end.
    clock.shift(LEASE_MS);
    return await work(sublet);
  }

  /** What the provider has, by name. */
  async function inProvider(): Promise<readonly string[]> {
    const names = await readdir(path.join(home, 'providers', 'namespace', 'sandboxes'));
    return names.filter((name) => !name.startsWith('.'));
  }
});

async function profileOf(sublet: Sublet): Promise<string> {
  return (await sublet.sandboxes.get('execution:anonymous:moved')).profile;
}

async function listing(sublet: Sublet): Promise<string> {
  // Held, so that the lease of a mover that was killed is passed over and released.
  await using session = await sublet.session({ task: 'moved', exclusive: true });
  const { stdout } = await session.commands.run(['bash', '-c', LIST_FILES], { maxOutputBytes: 1e6 });
  return stdout;
}
