/** A sandbox that is made for one command is made another way. What that command finds must be the same all the same. */
import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { canRun, openWorld, sh, signal, until } from './world.ts';

const world = await openWorld();

const ASPECTS: readonly (readonly [name: string, script: string])[] = [
  [
    'ids, capabilities and what can be gained',
    "id; grep -E '^(Cap|NoNewPrivs|Seccomp|Uid|Gid|Groups)' /proc/self/status",
  ],
  ['mounts', "cut -d' ' -f4- /proc/self/mountinfo | sed 's/iso-[0-9a-f-]*/NAME/g'"],
  ['namespaces that may be made', 'cat /proc/sys/user/max_user_namespaces; unshare --user true 2>&1'],
  ['limits', 'ulimit -a | grep -v locks'],
  ['control groups', "sed 's/:[^:]*$//' /proc/self/cgroup; cat /sys/fs/cgroup/*/tasks 2>&1 | head -n 3"],
  ['interfaces', 'ip -brief link 2>&1; cat /proc/net/route'],
  ['names', 'hostname; cat /proc/sys/kernel/hostname'],
  ['environment', 'env | grep -v ^_= | sort'],
  ['files', "stat -c '%A %u %g %N' / /* /dev/* /etc/* /home/* /run/sublet/*"],
  ['open files', 'for fd in /proc/self/fd/*; do readlink "$fd" | sed "s/[0-9].*//"; done'],
  [
    'its own session',
    'read -r _ _ _ _ group session _ </proc/self/stat; [ "$group $session" = "$$ $$" ] && echo alone',
  ],
  ['the processes it can signal', 'kill -0 1 && echo first; kill -9 -1; kill -9 1; echo survived'],
];

describe.runIf(canRun)('the command of a sandbox for one command', () => {
  it.each(ASPECTS)('finds the same as any other: %s', async (_, script) => {
    const [one, any] = [await world.create({ expectsOneCommand: true }), await world.create()];
    const [found, expected] = [await sh(one, script), await sh(any, script)];
    expect(expected.stdout).not.toBe('');
    expect([found.stdout, found.stderr, found.exitCode]).toEqual([expected.stdout, expected.stderr, expected.exitCode]);
  });

  it('is under the limits of its sandbox from the start', async () => {
    const sandbox = await world.create({ expectsOneCommand: true, limits: { pids: 40 } });
    const { stdout } = await sh(
      sandbox,
      'i=0; while [ $i -lt 100 ] && sleep 30 & do i=$((i+1)); done 2>/dev/null; echo $i',
    );
    expect(Number(stdout)).toBeLessThan(40);
  });

  it('is followed by others, each as in any sandbox', async () => {
    const sandbox = await world.create({ expectsOneCommand: true });
    await sh(sandbox, 'echo first >note');
    expect((await sh(sandbox, 'cat note')).stdout).toBe('first\n');
    expect(await sandbox.files.readText('note')).toBe('first\n');
    const command = await sandbox.commands.start('cat note');
    expect((await command.wait()).exitCode).toBe(0);
  });

  it('may come late or not at all', async () => {
    const sandbox = await world.create({ expectsOneCommand: true });
    await sandbox.close();
    expect((await sh(sandbox, 'echo late')).stdout).toBe('late\n');
    const unused = await world.create({ expectsOneCommand: true });
    const processes = await world.processesBeside((await world.record(unused)).init?.pid);
    await world.provider.destroy(unused.ref, signal);
    expect(await processes()).toEqual([]);
  });

  it('leaves nothing when it is destroyed while it runs', async () => {
    const sandbox = await world.create({ expectsOneCommand: true });
    const { init, cgroups } = await world.record(sandbox);
    const processes = await world.processesBeside(init?.pid);
    const running = sh(sandbox, 'setsid sleep 600 & sleep 600').catch(() => undefined);
    await until(async () => (await processes()).length > 4, 'it runs');
    await world.provider.destroy(sandbox.ref, signal);
    await running;
    expect(await processes()).toEqual([]);
    for (const group of cgroups) await expect(readdir(group)).rejects.toThrow(/ENOENT/u);
    expect(await readdir(`${world.stateDir}/sandboxes`)).toEqual([]);
  });
});
