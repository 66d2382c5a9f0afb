/** The test harness itself: a run never passes by leaving tests out. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { requirement } from './requirements.ts';

const VITEST = path.resolve(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');

describe('the summary', () => {
  it.each([
    { fixture: 'pass', code: 0, line: '1 passed, 0 failed' },
    { fixture: 'fail', code: 1, line: '0 passed, 1 failed' },
    { fixture: 'broken', code: 1, line: '0 passed, 1 failed' },
    { fixture: 'no-such', code: 1, line: '0 passed, 1 failed' },
    { fixture: 'skip', code: 0, line: '1 passed, 0 failed, 2 skipped' },
  ])('ends with the counts and exit status $code for $fixture', async ({ fixture, code, line }) => {
    expect(await runFixture(fixture, '')).toMatchObject({ code, line });
  });

  it('fails a full run for a skip, unless nothing is claimed', async () => {
    expect(await runFixture('skip', 'namespace')).toMatchObject({ code: 1, line: '1 passed, 1 failed, 1 skipped' });
  });

  it('fails a property that had a counterexample, whatever its second try drew', async () => {
    expect(await runFixture('counterexample', '')).toMatchObject({ code: 1, line: '0 passed, 1 failed' });
  });

  it('names what passed only at its second try, and why', async () => {
    const { code, output } = await runFixture('second-try', '');
    expect(code).toBe(0);
    expect(output).toMatch(
      /^passed at the second try: .*second-try\.fixture\.ts > passes at its second try: expected 1/m,
    );
  });
});

describe('a requirement', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('is met when its probe finds nothing wrong', async () => {
    expect(await requirement('tmux', () => Promise.resolve(undefined))).toBe(true);
  });

  it('is not met when its probe gives a reason', async () => {
    vi.stubEnv('SUBLET_TEST_REQUIRE', '');
    expect(await requirement('tmux', () => Promise.resolve('part of a test of requirements'))).toBe(false);
  });

  it('throws when the run demands it', async () => {
    vi.stubEnv('SUBLET_TEST_REQUIRE', 'user, tmux');
    await expect(requirement('tmux', () => Promise.resolve('not installed'))).rejects.toThrow(
      /demands tmux: not installed/,
    );
  });
});

interface Run {
  readonly code: number | null;
  readonly output: string;
  /** The last. */
  readonly line: string | undefined;
}

async function runFixture(name: string, require: string): Promise<Run> {
  const child = spawn(process.execPath, [VITEST, 'run', `${name}.fixture.ts`], {
    cwd: path.join(import.meta.dirname, 'fixtures'),
    env: { ...process.env, SUBLET_TEST_REQUIRE: require },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const output = await text(child.stdout);
  return { code: await exited, output, line: output.trimEnd().split('\n').at(-1) };
}
