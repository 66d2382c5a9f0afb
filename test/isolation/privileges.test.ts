import { chmod, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canRun, openWorld, sh, signal, until } from './world.ts';

const world = await openWorld();

/** Each must fail, and none because its program is missing or its arguments are wrong. */
const REFUSED: readonly (readonly [what: string, script: string])[] = [
  ['mounting a file system', 'mount -t tmpfs none /tmp'],
  ['mounting a fresh /proc', 'mount -t proc proc /tmp'],
  ['binding a directory', 'mount --bind /usr /tmp'],
  ['making the root writable', 'mount -o remount,bind,rw /'],
  ['making the channel writable', 'mount -o remount,bind,rw /run/sublet/channel'],
  ['uncovering what lies below', 'umount -l /'],
  ['removing /proc', 'umount -l /proc'],
  ['a mount namespace', 'unshare --mount true'],
  ['a user namespace', 'unshare --user true'],
  ['a user namespace with a root', 'unshare --user --map-root-user true'],
  ['a network namespace', 'unshare --net true'],
  ['a namespace of another process', 'nsenter --target 1 --mount true'],
  ['another root', 'chroot /tmp /true'],
  ['a device', 'mknod /tmp/device b 254 0'],
  ['the memory device', 'mknod /workspace/mem c 1 1'],
  ['another owner', 'touch /tmp/mine && chown 0 /tmp/mine'],
  ['a higher priority', 'test "$(nice -n -5 nice 2>/dev/null)" -lt 0'],
  ['a kernel setting', 'echo 1 >/proc/sys/kernel/panic'],
  ['the program for core dumps', 'echo "|/tmp/x" >/proc/sys/kernel/core_pattern'],
  ['the loader of modules', 'echo /tmp/x >/proc/sys/kernel/modprobe'],
  ['a network setting', 'echo 1 >/proc/sys/net/ipv4/ip_forward'],
  ['a setting of shared memory', 'echo 1 >/proc/sys/kernel/shmmni'],
  ['a setting of message queues', 'echo 1 >/proc/sys/fs/mqueue/queues_max'],
  ['more user namespaces', 'echo 100 >/proc/sys/user/max_user_namespaces'],
  ['the magic key', 'echo h >/proc/sysrq-trigger'],
  ['the kernel’s log', 'head -c 1 /dev/kmsg /proc/kmsg'],
  ['the kernel’s memory', 'head -c 1 /proc/kcore'],
  ['an interrupt', 'echo 1 >/proc/irq/default_smp_affinity'],
];

describe.runIf(canRun)('a command without privileges', () => {
  it('holds no capability, and no process beside it does', async () => {
    const sandbox = await world.create();
    const second = await (await world.open()).attach(sandbox.ref, signal);
    await second?.commands.start(['sleep', '600']);
    // Whoever enters from outside holds what that takes until he is in.
    const isIn = async (): Promise<boolean> => (await sh(sandbox, 'grep -lx sleep /proc/[0-9]*/comm')).exitCode === 0;
    await until(isIn, 'the second command is in');
    for (const each of [sandbox, second]) {
      const { stdout } = await sh(
        each as typeof sandbox,
        "cat /proc/[0-9]*/status | grep -E '^(Cap(Prm|Eff|Amb)|NoNewPrivs|Groups|Uid)' | sort -u",
      );
      expect(stdout.replaceAll(/[ \t]+/gu, ' ')).toBe(
        'CapAmb: 0000000000000000\nCapEff: 0000000000000000\nCapPrm: 0000000000000000\nGroups: \nNoNewPrivs: 1\nUid: 1000 1000 1000 1000\n',
      );
    }
  });

  it.each(REFUSED)('is refused %s', async (_, script) => {
    const sandbox = await world.create();
    const { exitCode, stderr } = await sh(sandbox, script);
    expect(exitCode, stderr).toBeGreaterThan(0);
    expect(exitCode, stderr).not.toBe(127);
    expect(stderr).not.toMatch(/not found$|unrecognized|usage:/imu);
  });

  it('loads no module', async () => {
    const sandbox = await world.create();
    const { stdout } = await sh(
      sandbox,
      'cat /proc/modules >before 2>/dev/null; printf "\\177ELF" >x.ko; insmod ./x.ko || modprobe dummy || echo refused; cat /proc/modules 2>/dev/null | cmp - before && echo same',
    );
    expect(stdout).toContain('refused');
    expect(stdout).toContain('same');
  });

  it('gains nothing by a setuid program of the system', async () => {
    const sandbox = await world.create();
    const { stdout } = await sh(
      sandbox,
      'for p in su sudo newgrp mount passwd; do command -v $p; done; find /usr/bin -perm -4000; su -c "id -u" root </dev/null; su root -c "id -u" </dev/null; sudo -n id -u',
    );
    expect(stdout.split('\n')).not.toContain('0');
  });

  it('gains nothing by a setuid program of its own or of a mount', async () => {
    const source = await world.directory();
    await chmod(source, 0o755);
    await copyFile('/usr/bin/id', join(source, 'id'));
    await chmod(join(source, 'id'), 0o6755);
    const sandbox = await world.create({ mounts: [{ source, target: '/mnt/tools' }] });
    const { stdout } = await sh(
      sandbox,
      'cp /usr/bin/id . && chmod 6755 id && ./id -u; /mnt/tools/id -u; ls -l /mnt/tools/id',
    );
    expect(stdout).toMatch(/^1000\n1000\n-rwsr-sr-x/u);
  });

  it('finds the six devices and terminals, nothing else', async () => {
    const sandbox = await world.create();
    const { stdout } = await sh(sandbox, "ls -l /dev /dev/pts | grep '^[bc]' | sed 's/.* //'");
    expect(stdout.trim().split('\n').sort()).toEqual(['full', 'null', 'ptmx', 'random', 'tty', 'urandom', 'zero']);
  });

  it('cannot flood the manager through the status pipe, nor invent an exit code', async () => {
    const sandbox = await world.create();
    const before = process.memoryUsage.rss();
    await sandbox.commands.run('head -c 300M /dev/zero >/run/sublet/channel/first.status', { timeoutMs: 20_000 });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
    const { exitCode } = await sandbox.commands.run(
      'for i in 0 1 2 3 4 5 6 7 8 9; do printf "\\nx first$i what\\n" >/run/sublet/channel/first.status; done; exit 3',
      { timeoutMs: 10_000 },
    );
    expect([null, 3]).toContain(exitCode);
  });
});
