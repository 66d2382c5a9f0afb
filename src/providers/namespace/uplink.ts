/** An open network for a sandbox that shows nothing of the host's own loopback. */
import { spawn } from 'node:child_process';
import { access, constants, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SubletError } from '../../core/errors.ts';
import { BASE_ENV } from './privileges.ts';
import { identify, isSameProcess, type ProcessIdentity } from './process-identity.ts';

export type UplinkTool = 'pasta' | 'slirp4netns';

export const INSTALL_UPLINK = 'apt-get install passt (or slirp4netns)';

const TUN = '/dev/net/tun';

/** Both tools make a device of it. */
export const ALLOW_TUN = `chmod 666 ${TUN} (as root)`;

export function mayOpenTun(): Promise<boolean> {
  return access(TUN, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** The first tool found, or undefined. */
export async function findUplinkTool(): Promise<UplinkTool | undefined> {
  for (const tool of ['pasta', 'slirp4netns'] as const) if (await onPath(tool)) return tool;
  return undefined;
}

/** Connects the namespaces of `init`; the returned process carries the traffic and ends with `closeUplink`. */
export async function openUplink(init: ProcessIdentity, holder: ProcessIdentity): Promise<ProcessIdentity> {
  const tool = await findUplinkTool();
  if (tool === undefined) {
    throw new SubletError('UNSUPPORTED', 'An open network needs pasta or slirp4netns, and neither is installed.', {
      hint: INSTALL_UPLINK,
    });
  }
  if (!(await mayOpenTun())) {
    throw new SubletError('UNSUPPORTED', `An open network needs ${TUN}, which this user may not open.`, {
      hint: ALLOW_TUN,
    });
  }
  const [user, net] = [`/proc/${holder.pid}/ns/user`, `/proc/${init.pid}/ns/net`];
  return startDaemon(tool === 'pasta' ? pastaLine(user, net) : slirpLine(user, net), init.pid);
}

export async function closeUplink(uplink: ProcessIdentity | undefined): Promise<void> {
  if (uplink === undefined) return;
  for (let attempt = 0; attempt < 200 && (await isSameProcess(uplink)); attempt++) {
    // The tool and the shell that watches over it are one group.
    if (attempt === 0 || attempt === 100) endGroup(uplink.pid);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

/** The host's name servers without those that only its own loopback reaches. */
export async function writeResolvConf(dir: string): Promise<string> {
  const texts = await Promise.all(
    ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  const usable = texts.map((text) => text.split('\n').filter((line) => !/^\s*nameserver\s+(127\.|::1)/u.test(line)));
  const chosen = usable.find((lines) => lines.some((line) => line.startsWith('nameserver'))) ?? usable[0] ?? [];
  const path = join(dir, 'resolv.conf');
  await writeFile(path, chosen.join('\n'), { mode: 0o644 });
  return path;
}

async function onPath(program: string): Promise<boolean> {
  const found = await Promise.all(
    (BASE_ENV['PATH'] ?? '').split(':').map((dir) =>
      access(join(dir, program), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

/** pasta by itself maps the gateway's address and listening ports to the host's loopback: both are switched off. */
function pastaLine(user: string, net: string): readonly string[] {
  const closed = ['--no-map-gw', '--tcp-ports', 'none', '--udp-ports', 'none', '--tcp-ns', 'none', '--udp-ns', 'none'];
  const root = process.getuid?.() === 0 ? ['--runas', '0'] : [];
  return ['pasta', '--foreground', '--quiet', '--config-net', ...closed, ...root, '--userns', user, '--netns', net];
}

function slirpLine(user: string, net: string): readonly string[] {
  return [
    'slirp4netns',
    '--configure',
    '--mtu=65520',
    '--disable-host-loopback',
    '--disable-dns',
    `--userns-path=${user}`,
    '--netns-type=path',
    net,
    'tap0',
  ];
}

/** The tool would hold the network for ever; this shell ends it within a second of the sandbox, whoever ended that. */
const WATCH = `
init=$1
shift
"$@" &
tool=$!
pause=0.1
while kill -0 "$init" 2>/dev/null && kill -0 "$tool" 2>/dev/null; do sleep "$pause"; pause=1; done
kill -KILL "$tool" 2>/dev/null
`;

async function startDaemon(line: readonly string[], initPid: number): Promise<ProcessIdentity> {
  const child = spawn('sh', ['-c', WATCH, 'sh', String(initPid), ...line], {
    detached: true,
    cwd: '/',
    env: BASE_ENV,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (said.length < 2_000) said += chunk.toString();
  });
  const ended = new Promise<true>((resolve) => child.once('close', () => resolve(true)));
  // Neither tool tells when it is ready; one that cannot work ends within moments.
  const failed = await Promise.race([ended, new Promise<false>((resolve) => setTimeout(() => resolve(false), 250))]);
  const identity = failed ? undefined : await identify(child.pid as number);
  if (identity === undefined) {
    throw new SubletError('CREATE_FAILED', `${line[0]} could not connect the sandbox: ${said.trim()}`, {
      hint: 'Use --network none, or install the other of pasta and slirp4netns.',
    });
  }
  child.stderr.destroy();
  child.unref();
  return identity;
}
