import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { SubletError } from '../../src/core/errors.ts';
import type { SandboxHandle, SandboxProvider } from '../../src/provider/provider.ts';
import { provider as module } from '../../src/providers/namespace/index.ts';
import { mayOpenTun, type TapTool } from '../../src/providers/namespace/tap-uplink.ts';
import { requirement } from '../setup/requirements.ts';
import { canRun, contextOf, isAlive, isRoot, openWorld, signal, until } from './world.ts';

const world = await openWorld();
const opened: SandboxProvider[] = [];
const made: SandboxHandle[] = [];
afterEach(async () => {
  for (const { ref } of made.splice(0)) await world.provider.destroy(ref, signal);
});
afterAll(() => Promise.all(opened.map((each) => each.close())));

async function connected(uplink: TapTool): Promise<readonly [SandboxProvider, SandboxHandle]> {
  const provider = await module.open({ ...contextOf(world.stateDir), options: { uplink } });
  opened.push(provider);
  const spec = { name: `iso-${randomUUID()}`, labels: {}, kind: 'execution', network: 'open' } as const;
  const sandbox = await provider.create({ ...spec, ephemeral: false }, signal);
  made.push(sandbox);
  await until(async () => (await devices(sandbox)).length > 1, 'the sandbox has a network device');
  return [provider, sandbox];
}

async function devices(sandbox: SandboxHandle): Promise<readonly string[]> {
  const { init } = await world.record(sandbox);
  const table = await readFile(`/proc/${init?.pid}/net/dev`, 'utf8');
  return [...table.matchAll(/^ *([^\s|]+):/gmu)].map(([, name = '']) => name);
}

/** Shells of the group that carries its network. */
async function watchers(sandbox: SandboxHandle): Promise<readonly number[]> {
  const { uplink } = await world.record(sandbox);
  const group = uplink !== undefined && 'pid' in uplink ? uplink.pid : undefined;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return pids.map(Number).filter((_, index) => {
    const [, name, fields = ''] = /\((.*)\) (.*)/su.exec(stats[index] ?? '') ?? [];
    return name === 'sh' && Number(fields.split(' ')[2]) === group;
  });
}

/** An ordinary user may not look. */
function visibleTo(pid: number): Promise<readonly string[]> {
  return readdir(`/proc/${pid}/root`).catch(() => []);
}

const tools = await Promise.all(
  (['pasta', 'slirp4netns'] as const).map(async (tool) => ((await requirement(tool)) ? [tool] : [])),
);
const [tool] = tools.flat();

describe.runIf(canRun && (await mayOpenTun()))('what carries a network', () => {
  for (const each of tools.flat()) {
    it(`has a filter of system calls, and as root none of the host’s programs: ${each}`, async () => {
      const [, sandbox] = await connected(each);
      const { uplink } = await world.record(sandbox);
      if (uplink === undefined || 'device' in uplink) throw new Error('No process carries the network.');
      const status = (): Promise<string> => readFile(`/proc/${uplink.pid}/status`, 'utf8');
      await until(async () => /^Seccomp:\t2$/mu.test(await status()), 'it filters system calls');
      const [root, privileges] = [await visibleTo(uplink.pid), await status()];
      expect(privileges).toMatch(/^NoNewPrivs:\t1$/mu);
      if (isRoot) expect(root).not.toContain('usr');
    });
  }
});

describe.runIf(canRun && tool !== undefined && (await mayOpenTun()))('cutting a network', () => {
  for (const each of tools.flat()) {
    it(`ends ${each} also when what watches over it was killed`, async () => {
      const [provider, sandbox] = await connected(each);
      const shells = await watchers(sandbox);
      expect(shells).toHaveLength(1);
      for (const pid of shells) process.kill(pid, 'SIGKILL');
      await until(async () => !(await isAlive(shells[0] as number)), 'the watching shell is gone');
      await provider.setNetwork?.(sandbox.ref, 'none', signal);
      const left = await devices(sandbox);
      expect(left).toEqual(['lo']);
    });
  }

  it.runIf(isRoot)('is not told as done while the sandbox has a device, and is when that has gone', async () => {
    const [provider, sandbox] = await connected(tool as TapTool);
    const { init } = await world.record(sandbox);
    const inside = (...line: string[]) =>
      promisify(execFile)('nsenter', ['--net', '--target', String(init?.pid), 'ip', 'link', ...line]);
    await inside('add', 'one', 'type', 'veth', 'peer', 'name', 'other');
    const error = await provider.setNetwork?.(sandbox.ref, 'none', signal).catch((cause: unknown) => cause);
    const refused = await world.record(sandbox);
    await inside('delete', 'one');
    await provider.setNetwork?.(sandbox.ref, 'none', signal);
    const cut = await world.record(sandbox);
    expect(SubletError.is(error, 'PROVIDER_UNAVAILABLE') && error.hint).toContain('counts as open');
    expect([refused.network, cut.network]).toEqual(['open', 'none']);
  });
});
