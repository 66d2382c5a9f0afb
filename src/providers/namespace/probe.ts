/** What this machine allows the namespace provider to do, in plain words. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Finding, Probe } from '../../provider/provider.ts';
import { findCgroupHost } from './cgroup-host.ts';
import { NO_SANDBOX_ID } from './namespace-errors.ts';
import { BASE_ENV, currentPrivileges, lacksSandboxId } from './privileges.ts';
import { findUplink } from './uplink.ts';

const TOOLS = ['sh', 'unshare', 'nsenter', 'mount', 'setpriv', 'mkfifo', 'ip'];

export async function probeNamespaces(): Promise<Probe> {
  if (process.platform !== 'linux') return { usable: false, findings: [wrongPlatform()] };
  const tools = await missingTools();
  const namespaces = tools.some((finding) => finding.level === 'fail') ? undefined : await tryNamespaces();
  const findings = [
    ...tools,
    ...(namespaces === undefined ? [] : [namespaces]),
    ...(await limitFindings()),
    await networkFinding(),
  ];
  return { usable: findings.every((finding) => finding.level !== 'fail'), findings };
}

function wrongPlatform(): Finding {
  return {
    name: 'platform',
    level: 'fail',
    message: `Namespaces are a feature of Linux; this is ${process.platform}.`,
    fix: 'Install Docker Desktop, Colima or Podman and use --sandbox docker.',
  };
}

async function missingTools(): Promise<readonly Finding[]> {
  const { code, output } = await run('sh', [
    '-c',
    'for tool; do command -v "$tool" >/dev/null || echo "$tool"; done',
    'sh',
    ...TOOLS,
  ]);
  const missing = code === 0 ? output.split('\n').filter(Boolean) : TOOLS;
  if (missing.length === 0) return [{ name: 'tools', level: 'ok', message: 'util-linux and iproute2 are installed.' }];
  const onlyIp = missing.length === 1 && missing[0] === 'ip';
  if (onlyIp) {
    return [
      {
        name: 'tools',
        level: 'note',
        message: 'ip is missing: a sandbox has no working loopback.',
        fix: 'apt-get install iproute2',
      },
    ];
  }
  return [
    {
      name: 'tools',
      level: 'fail',
      message: `Missing programs: ${missing.join(', ')}.`,
      fix: 'apt-get install util-linux coreutils iproute2',
    },
  ];
}

/** Does the real thing once: user, mount, PID and network namespaces and a fresh /proc. */
async function tryNamespaces(): Promise<Finding> {
  const privileges = currentPrivileges();
  if (lacksSandboxId(privileges))
    return { name: 'namespaces', level: 'fail', message: NO_SANDBOX_ID.message, fix: NO_SANDBOX_ID.hint };
  const [program = '', ...args] = privileges.unshare;
  const { code, output } = await run(program, [...args, 'mount', '-n', '-t', 'proc', 'proc', '/proc']);
  if (code === 0)
    return { name: 'namespaces', level: 'ok', message: 'User, mount, PID and network namespaces work for this user.' };
  return {
    name: 'namespaces',
    level: 'fail',
    message: `Namespaces cannot be made by this user: ${output.trim()}`,
    fix: await howToAllow(output),
  };
}

async function howToAllow(said: string): Promise<string> {
  const settings: readonly (readonly [path: string, forbids: (value: number) => boolean, line: string])[] = [
    [
      '/proc/sys/kernel/unprivileged_userns_clone',
      (value) => value === 0,
      'sysctl -w kernel.unprivileged_userns_clone=1',
    ],
    [
      '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
      (value) => value === 1,
      'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
    ],
    ['/proc/sys/user/max_user_namespaces', (value) => value === 0, 'sysctl -w user.max_user_namespaces=15000'],
  ];
  for (const [path, forbids, line] of settings) {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined && forbids(Number(text))) return `${line} (as root)`;
  }
  if (/proc/u.test(said))
    return 'This looks like a container whose /proc is masked: start it with --security-opt systempaths=unconfined, or use --sandbox docker.';
  return 'This looks like a container or a seccomp profile that forbids it: use --sandbox docker or another provider.';
}

async function limitFindings(): Promise<readonly Finding[]> {
  const [mounts, own] = await Promise.all(
    ['/proc/self/mountinfo', '/proc/self/cgroup'].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  const host = await findCgroupHost(mounts ?? '', own ?? '');
  if (host === undefined) {
    return [
      {
        name: 'limits',
        level: 'note',
        message:
          'No control group is writable: process limits hold for the sandbox, memory limits for each process, CPU limits not at all; pause stops processes by signal.',
        fix: 'Run as root, or under a systemd unit with Delegate=yes.',
      },
    ];
  }
  const missing = (['memory', 'cpu', 'pids', 'freezer'] as const).filter((name) => host.roots[name] === undefined);
  const message = `Control groups version ${host.version} are writable${missing.length === 0 ? '' : `, without ${missing.join(', ')}`}.`;
  return [{ name: 'limits', level: missing.length === 0 ? 'ok' : 'note', message }];
}

async function networkFinding(): Promise<Finding> {
  const found = await findUplink();
  if (typeof found === 'object') {
    const message = `Network none works; an open one needs ${found.missing}.`;
    return { name: 'network', level: 'note', message, fix: found.fix };
  }
  const way = found === 'veth' ? 'a pair of devices with address translation' : found;
  return { name: 'network', level: 'ok', message: `Network none by default; open through ${way}.` };
}

function run(
  program: string,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { env: BASE_ENV, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', (cause) => resolve({ code: null, output: cause.message }));
    child.on('close', (code) => resolve({ code, output }));
  });
}
