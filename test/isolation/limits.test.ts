import { describe, expect, it } from 'vitest';
import { canRun, openWorld, sh, signal } from './world.ts';

const world = await openWorld();
const MIB = 1024 * 1024;

describe.runIf(canRun)('a sandbox with limits', () => {
  it('stops a fork bomb at its number of processes, and is destroyed all the same', async () => {
    const sandbox = await world.create({ limits: { pids: 60 } });
    const processes = await world.processesBeside((await world.record(sandbox)).init?.pid);
    await sandbox.files.write('bomb', 'sh ./bomb & sh ./bomb & exec sleep 6\n');
    const bomb = sandbox.commands.run('sh ./bomb', { timeoutMs: 8_000 }).catch(() => undefined);
    let most = 0;
    for (let look = 0; look < 30; look++) {
      most = Math.max(most, (await processes()).length);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(most).toBeGreaterThan(10);
    expect(most).toBeLessThanOrEqual(60);
    await world.provider.destroy(sandbox.ref, signal);
    await bomb;
    expect(await processes()).toEqual([]);
  });

  it('fails or kills what fills its memory', async () => {
    const sandbox = await world.create({ limits: { memoryBytes: 96 * MIB } });
    const result = await sandbox.commands.run('head -c 1G /dev/zero | tail -n 1 | wc -c', { timeoutMs: 30_000 });
    expect(result.stdout.trim()).not.toBe(String(1024 * MIB));
    expect((await sandbox.commands.run('echo alive', { timeoutMs: 20_000 })).stdout).toBe('alive\n');
  });

  it('names the memory limit that killed it before it could run anything, where a control group holds it', async () => {
    const { cgroups } = await world.record(await world.create());
    const limits = { memoryBytes: 400_000 };
    const ran = world
      .create({ limits, ephemeral: true, expectsOneCommand: true })
      .then((sandbox) => sandbox.commands.run('echo ran'));
    const outcome: unknown = await ran.catch((error: unknown) => error);
    if (!cgroups.some((dir) => dir.includes('memory'))) return;
    expect(outcome).toMatchObject({ message: expect.stringContaining('memory limit of 400000 bytes') as string });
  });

  it('refuses a limit that nothing could run within, by its name', async () => {
    for (const limits of [{ pids: 3 }, { cpuMillis: 1 }])
      await expect(world.create({ limits })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const { cgroups } = await world.record(await world.create());
    if (!cgroups.some((dir) => dir.includes('memory'))) return;
    const message = expect.stringContaining('memory limit of 1 bytes') as string;
    await expect(world.create({ limits: { memoryBytes: 1 } })).rejects.toMatchObject({ message });
  });

  it('works within the fewest processes it may be given', async () => {
    const sandbox = await world.create({ limits: { pids: 16 } });
    expect((await sandbox.commands.run('echo a | cat | cat', { timeoutMs: 20_000 })).stdout).toBe('a\n');
  });

  it('counts what is written to memory file systems as memory, or bounds them', async () => {
    const sandbox = await world.create({ limits: { memoryBytes: 96 * MIB } });
    const { stdout } = await sh(sandbox, 'head -c 400M /dev/zero >/dev/shm/fill; stat -c %s /dev/shm/fill');
    expect(Number(stdout)).toBeLessThan(400 * MIB);
  });

  it('gets no more of the processors than it was given, where a control group holds it', async () => {
    const sandbox = await world.create({ limits: { cpuMillis: 200 } });
    const { cgroups } = await world.record(sandbox);
    const result = await sandbox.commands.run(
      's=$(date +%s%N); i=0; while [ $(( $(date +%s%N) - s )) -lt 1500000000 ]; do i=$((i+1)); done; read -r a b c </proc/uptime; times | tail -n 1',
      { timeoutMs: 20_000 },
    );
    const cpuMs = (await world.provider.metrics?.(sandbox.ref, signal))?.cpuMs ?? 0;
    if (cgroups.length > 0) expect(cpuMs).toBeLessThan(result.durationMs * 0.5);
    else expect(result.exitCode).toBe(0);
  });

  it('has no more disk than it was given, in every directory it may write', async () => {
    const sandbox = await world.create({ limits: { diskBytes: 16 * MIB } });
    for (const directory of ['/workspace', '/tmp', '/home/sandbox']) {
      const { stderr, exitCode } = await sh(sandbox, `head -c 64M /dev/zero >${directory}/fill`);
      expect([exitCode === 0, stderr]).toEqual([false, expect.stringContaining('No space left on device')]);
    }
    expect((await sh(sandbox, 'rm /workspace/fill; echo fits >/workspace/small; cat /workspace/small')).stdout).toBe(
      'fits\n',
    );
  });
});
