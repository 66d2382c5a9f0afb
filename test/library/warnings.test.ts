/** What a program is told that brings no log of its own. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, silentLog } from '../../src/index.ts';

let home = '';

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sublet-warnings-'));
});

afterEach(() => rm(home, { recursive: true, force: true }));

describe.runIf(process.platform === 'linux')('a program without a log', () => {
  it('is warned that "local" does not isolate, and of a variable that is ignored', async () => {
    const env = { ...process.env, SUBLET_WATCHDOG: 'perhaps' };
    await using sublet = await open({ home, env, handleSignals: false });
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    await sublet.session({ sandbox: 'local', task: 'warned' });
    // Warnings are told at the next turn of the loop; one of our own comes after them.
    const last = once(process, 'warning');
    process.emitWarning('last');
    await last;
    process.off('warning', listen);
    const told = warnings.filter(({ name }) => name === 'SubletWarning').map(({ message }) => message);
    expect(told).toContainEqual(expect.stringContaining('without isolation'));
    expect(told).toContainEqual(expect.stringContaining('SUBLET_WATCHDOG is ignored'));
    await sublet.destroyAllSessions();
  });

  it('hears nothing when it asks for that', async () => {
    await using sublet = await open({ home, log: silentLog, handleSignals: false });
    let warned = 0;
    const listen = (warning: Error): void => void (warned += warning.name === 'SubletWarning' ? 1 : 0);
    process.on('warning', listen);
    await sublet.run('true', { sandbox: 'local' });
    const last = once(process, 'warning');
    process.emitWarning('last');
    await last;
    process.off('warning', listen);
    expect(warned).toBe(0);
  });
});
