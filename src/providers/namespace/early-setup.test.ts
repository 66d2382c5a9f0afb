import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { beginEarly, nextSetup } from './early-setup.ts';
import { currentPrivileges } from './privileges.ts';

const usable = await requirement('namespace');
const privileges = currentPrivileges();

describe.runIf(usable)('a set-up that begins early', () => {
  it('is one, and the first who wants a set-up has it', async () => {
    beginEarly();
    beginEarly();
    const [early] = children();
    expect(children()).toEqual([early]);
    const [first, second] = [await nextSetup(privileges), await nextSetup(privileges)];
    expect(first.child.pid).toBe(early);
    expect(second.child.pid).not.toBe(early);
    expect(Number(await first.line('p'))).toBeGreaterThan(0);
    for (const setup of [first, second]) {
      setup.abandon();
      await setup.exited;
    }
  });

  it('ends with its process when nobody wants it', async () => {
    const module = JSON.stringify(join(import.meta.dirname, 'early-setup.ts'));
    const script = `
      const { readFileSync } = await import('node:fs');
      (await import(${module})).beginEarly();
      console.log(readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim().split(' ').at(-1));`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--import=tsx',
      '--input-type=module',
      '--eval',
      script,
    ]);
    expect(stdout).toMatch(/^\d+\n$/u);
    await expect.poll(() => existsSync(`/proc/${stdout.trim()}`), { timeout: 30_000 }).toBe(false);
  });
});

/** Processes that this one has started and that are called as the set-up is. */
function children(): number[] {
  const pids = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return pids.map(Number).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('unshare'));
}
