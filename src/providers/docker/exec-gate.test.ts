import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makerMark } from '../../provider/posix/maker-mark.ts';
import { ManualClock, settle } from '../../testing/manual-clock.ts';
import { ExecGate } from './exec-gate.ts';

let dir = '';
let clock: ManualClock;
/** As two processes have them. */
let one: ExecGate;
let other: ExecGate;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sublet-gate-'));
  clock = new ManualClock();
  one = new ExecGate(join(dir, 'execs'), clock);
  other = new ExecGate(join(dir, 'execs'), clock);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Something that is at it until `end` is called. */
function lasting(enter: (work: () => Promise<void>) => Promise<void>): { readonly end: () => Promise<void> } {
  let finish = (): void => undefined;
  const done = enter(() => new Promise<void>((resolve) => (finish = resolve)));
  return { end: () => (finish(), done) };
}

/** What has happened by the time that `work` is let in. */
function noting(seen: string[], what: string): () => Promise<void> {
  return () => Promise.resolve(void seen.push(what));
}

async function pass(ms: number): Promise<void> {
  await clock.advance(ms);
  await settle();
}

describe('the gate of a container', () => {
  it('keeps a command out while another process puts the container to sleep', async () => {
    const seen: string[] = [];
    const sleeping = lasting((work) => other.sleep('c1', work));
    const begun = one.begin('c1', noting(seen, 'begun'));
    await pass(1_000);
    expect(seen).toEqual([]);
    await sleeping.end();
    await pass(100);
    await begun;
    expect(seen).toEqual(['begun']);
  });

  it('keeps the sleep back until commands of other processes have begun', async () => {
    const seen: string[] = [];
    const beginning = lasting((work) => other.begin('c1', work));
    const slept = one.sleep('c1', noting(seen, 'slept'));
    await pass(1_000);
    expect(seen).toEqual([]);
    await beginning.end();
    await pass(100);
    await slept;
    expect(seen).toEqual(['slept']);
  });

  it('lets commands in side by side, and everything into another container', async () => {
    const first = lasting((work) => one.begin('c1', work));
    await other.begin('c1', () => Promise.resolve());
    await other.sleep('c2', () => Promise.resolve());
    await first.end();
  });

  it('passes over one that was killed at it', async () => {
    await one.begin('c1', () => Promise.resolve());
    const killed = makerMark().replace(/-\d+-\d+-$/, '-4194305-1-');
    for (const doing of ['begins', 'sleeps']) await writeFile(join(dir, 'execs', `c1.${doing}.${killed}x`), '');
    await other.sleep('c1', () => Promise.resolve());
    await other.begin('c1', () => Promise.resolve());
    expect(await readdir(join(dir, 'execs'))).toEqual([]);
  });

  it('waits no longer than commands take for one that nobody can judge', async () => {
    await one.begin('c1', () => Promise.resolve());
    await writeFile(join(dir, 'execs', 'c1.sleeps.elsewhere'), '');
    const seen: string[] = [];
    const begun = one.begin('c1', noting(seen, 'begun'));
    await pass(19_000);
    expect(seen).toEqual([]);
    await pass(2_000);
    await begun;
    expect(await readdir(join(dir, 'execs'))).toEqual([]);
  });

  it('leaves nothing behind when the work fails', async () => {
    await expect(one.sleep('c1', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await readdir(join(dir, 'execs'))).toEqual([]);
  });

  it('is open where its directory cannot be made', async () => {
    await writeFile(join(dir, 'execs'), 'a file');
    expect(await one.begin('c1', () => Promise.resolve('in'))).toBe('in');
  });
});
