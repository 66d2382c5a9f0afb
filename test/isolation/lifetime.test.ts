import { describe, expect, it } from 'vitest';
import { SubletError } from '../../src/core/errors.ts';
import { readRecord } from '../../src/providers/namespace/sandbox-record.ts';
import { isSameProcess } from '../../src/providers/namespace/process-identity.ts';
import { mayOpenTun } from '../../src/providers/namespace/tap-uplink.ts';
import { requirement } from '../setup/requirements.ts';
import { canRun, openWorld, sh, signal, until } from './world.ts';

const world = await openWorld();
const canConnect = (await requirement('pasta')) && (await mayOpenTun());
const COUNT = 'i=0; while :; do i=$((i+1)); echo $i >counter; sleep 0.02; done';

describe.runIf(canRun)('a manager that is killed', () => {
  it.each([false, true])('takes its ephemeral sandbox along, whatever runs in it', async (expectsOneCommand) => {
    const { child, name } = await world.manager(
      { ephemeral: true, expectsOneCommand },
      'setsid sh -c "trap \\"\\" HUP TERM; sleep 600" >/dev/null 2>&1 & echo ready',
    );
    const record = await readRecord(world.stateDir, name);
    const processes = await world.processesBeside(record?.init?.pid);
    expect((await processes()).length).toBeGreaterThan(0);
    child.kill('SIGKILL');
    await until(async () => (await processes()).length === 0, 'the sandbox ends with its manager');
    const found = await world.provider.attach({ name }, signal);
    expect(found?.state).toBe('stopped');
    const error = await found?.commands.run('true').catch((cause: unknown) => cause);
    expect(SubletError.is(error, 'SANDBOX_LOST')).toBe(true);
  });

  if (canConnect) {
    it('takes along what carried the network of its ephemeral sandbox', async () => {
      const { child, name } = await world.manager({ ephemeral: true, network: 'open' }, 'echo ready');
      const uplink = (await readRecord(world.stateDir, name))?.uplink;
      if (uplink === undefined || 'device' in uplink) throw new Error('No process carries the network.');
      expect(isSameProcess(uplink)).toBe(true);
      child.kill('SIGKILL');
      await until(async () => !isSameProcess(uplink), 'the uplink ends');
    });
  }

  it('leaves a session’s sandbox to the next, with its files and background commands', async () => {
    const { child, name } = await world.manager(
      { ephemeral: false },
      'echo kept >note; setsid sh -c "sleep 600" >/dev/null 2>&1 & echo ready',
    );
    child.kill('SIGKILL');
    await until(async () => child.exitCode !== null || child.signalCode !== null, 'the manager ends');
    const found = await world.provider.attach({ name }, signal);
    expect(found?.state).toBe('running');
    expect(await found?.files.readText('note')).toBe('kept\n');
    expect((await found?.commands.run('cat /proc/[0-9]*/cmdline | tr "\\0" " "'))?.stdout).toContain('sleep 600');
  });
});

describe.runIf(canRun)('a session’s sandbox', () => {
  it('is paused by one process and resumed by another, and its commands go on where they were', async () => {
    const sandbox = await world.create({ ephemeral: false });
    const other = await world.open();
    const command = await sandbox.commands.start(COUNT);
    await until(() => sandbox.files.exists('counter'), 'it counts');
    const disk = `${world.stateDir}/sandboxes/${sandbox.ref.name}/disk/workspace/counter`;
    const { readFile } = await import('node:fs/promises');
    await other.pause?.(sandbox.ref, signal);
    const before = await readFile(disk, 'utf8');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await readFile(disk, 'utf8')).toBe(before);
    expect((await world.provider.attach(sandbox.ref, signal))?.state).toBe('paused');
    await world.provider.resume?.(sandbox.ref, signal);
    await until(async () => Number(await readFile(disk, 'utf8')) > Number(before), 'it goes on counting');
    const attached = await (await other.attach(sandbox.ref, signal))?.commands.attach(command.id);
    expect((await attached?.info())?.running).toBe(true);
  });

  it('keeps its files and loses its processes by a stop and a start in another process', async () => {
    const sandbox = await world.create({ ephemeral: false });
    const other = await world.open();
    await sh(sandbox, 'echo kept >note; echo kept >/home/sandbox/note; sleep 600 >/dev/null 2>&1 &');
    await other.stop?.(sandbox.ref, signal);
    await other.start?.(sandbox.ref, signal);
    const again = await world.provider.attach(sandbox.ref, signal);
    const { stdout } = (await again?.commands.run(
      'cat note /home/sandbox/note; cat /proc/[0-9]*/cmdline | tr "\\0" " "',
    )) ?? { stdout: '' };
    expect(stdout).toMatch(/^kept\nkept\n/u);
    expect(stdout).not.toContain('sleep 600');
  });

  it('serves two processes at once', async () => {
    const { name } = await world.manager(
      { ephemeral: false },
      'i=0; (while [ $i -lt 200 ]; do i=$((i+1)); echo first >>both; done) & echo started',
    );
    const mine = await world.provider.attach({ name }, signal);
    const run = async (script: string): Promise<string | undefined> => (await mine?.commands.run(script))?.stdout;
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) => run(`echo second >>both; echo ${index}`)),
    );
    expect(results).toEqual(Array.from({ length: 20 }, (_, index) => `${index}\n`));
    await until(async () => (await run('grep -c first both')) === '200\n', 'the first has written all');
    expect(await run('grep -c second both')).toBe('20\n');
  });
});
