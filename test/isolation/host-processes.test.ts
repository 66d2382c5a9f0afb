import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { canRun, isAlive, openWorld, sh } from './world.ts';

const world = await openWorld();

describe.runIf(canRun)('a process of the host', () => {
  it('is not visible inside', async () => {
    const seconds = `${600 + (process.pid % 1000)}.125`;
    const victim = world.spawn(['sleep', seconds]);
    const sandbox = await world.create();
    const { stdout } = await sh(sandbox, "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done; ls /proc");
    expect(stdout).not.toContain(seconds);
    expect(stdout).toContain('/run/sublet/scripts/init');
    expect(await isAlive(victim.pid as number)).toBe(true);
  });

  it('cannot be signalled, by number or by all', async () => {
    const victim = world.spawn(['sleep', '600']);
    await once(victim, 'spawn');
    const sandbox = await world.create();
    const { stdout } = await sh(
      sandbox,
      `kill -9 ${victim.pid}; echo $?; kill -9 ${process.pid}; echo $?; kill -9 ${process.ppid}; echo $?`,
    );
    expect(stdout).toBe('1\n1\n1\n');
    await sandbox.commands.run('kill -9 -1; kill -9 1; kill -9 0', { timeoutMs: 10_000 });
    expect(await isAlive(victim.pid as number)).toBe(true);
    expect((await sh(sandbox, 'echo and the sandbox answers')).stdout).toBe('and the sandbox answers\n');
  });

  it('cannot be traced, nor its memory opened', async () => {
    const victim = world.spawn(['sleep', '600']);
    await once(victim, 'spawn');
    const sandbox = await world.create();
    const tools = `strace -o /dev/null -p ${victim.pid}; gdb -p ${victim.pid} -batch; cat /proc/${victim.pid}/mem /proc/${victim.pid}/maps /proc/${victim.pid}/environ`;
    const { stdout, exitCode } = await sh(
      sandbox,
      `{ ${tools}; } 2>/dev/null </dev/null | grep -c -i 'inferior 1'; ls /proc/${victim.pid}`,
    );
    expect(exitCode).not.toBe(0);
    expect(stdout.trim()).toBe('0');
    expect(await isAlive(victim.pid as number)).toBe(true);
  });

  it('shares no memory segment, queue or host name with the sandbox', async () => {
    const sandbox = await world.create();
    expect((await sh(sandbox, 'tail -q -n +2 /proc/sysvipc/*')).stdout).toBe('');
    expect((await sh(sandbox, 'cat /proc/sys/kernel/hostname')).stdout).toBe('sandbox\n');
    expect((await sh(sandbox, 'hostname elsewhere || echo x >/proc/sys/kernel/hostname')).exitCode).not.toBe(0);
  });
});
