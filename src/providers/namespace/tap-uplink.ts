/** An open network through a program that carries the traffic: pasta or slirp4netns. */
import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { SubletError } from '../../core/errors.ts';
import { BASE_ENV } from './privileges.ts';
import { identify, isSameProcess, type ProcessIdentity } from './process-identity.ts';

export type TapTool = 'pasta' | 'slirp4netns';

/** Both tools make a device of it. */
export const TUN = '/dev/net/tun';

export function mayOpenTun(): Promise<boolean> {
  return access(TUN, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** Connects the namespaces of `init`; the returned process carries the traffic. */
export function openTap(tool: TapTool, init: ProcessIdentity, holder: ProcessIdentity): Promise<ProcessIdentity> {
  const [user, net] = [`/proc/${holder.pid}/ns/user`, `/proc/${init.pid}/ns/net`];
  return startDaemon(tool === 'pasta' ? pastaLine(user, net) : slirpLine(user, net), init.pid);
}

/** The tap device goes with the process that carries it, and every open connection with the device. */
export async function closeTap(carrier: ProcessIdentity): Promise<void> {
  for (let attempt = 0; attempt < 200 && isSameProcess(carrier); attempt++) {
    // The tool and the shell beside it are one group.
    if (attempt === 0 || attempt === 100) endGroup(carrier.pid);
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

/** pasta by itself maps the gateway's address and listening ports to the host's loopback: both are switched off. */
function pastaLine(user: string, net: string): readonly string[] {
  const closed = ['--no-map-gw', '--tcp-ports', 'none', '--udp-ports', 'none', '--tcp-ns', 'none', '--udp-ns', 'none'];
  const root = process.getuid?.() === 0 ? ['--runas', '0'] : [];
  return ['pasta', '--foreground', '--quiet', '--config-net', ...closed, ...root, '--userns', user, '--netns', net];
}

/**
 * slirp4netns by itself keeps all it was started with. Its own root is for root only: it becomes the root of the user
 * namespace on the way, which an ordinary user's does not have.
 */
function slirpLine(user: string, net: string): readonly string[] {
  return [
    'slirp4netns',
    '--configure',
    '--mtu=65520',
    '--disable-host-loopback',
    '--disable-dns',
    '--enable-seccomp',
    ...(process.getuid?.() === 0 ? ['--enable-sandbox'] : []),
    `--userns-path=${user}`,
    '--netns-type=path',
    net,
    'tap0',
  ];
}

/**
 * The tool would hold the network for ever; a shell beside it ends it within a second of the sandbox, whoever ended that. The
 * tool is what is recorded, so that it is ended also where that shell was. In the shell's group its pid is no other's.
 */
const WATCH = `
init=$1
shift
{
  pause=0.1
  while kill -0 "$init" && kill -0 $$; do sleep "$pause"; pause=1; done
  kill -KILL $$
} >/dev/null 2>&1 &
exec "$@"
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
  const identity = failed ? undefined : identify(child.pid as number);
  if (identity === undefined) {
    throw new SubletError('CREATE_FAILED', `${line[0]} could not connect the sandbox: ${said.trim()}`, {
      hint: 'Use --network none, or install the other of pasta and slirp4netns.',
    });
  }
  child.stderr.destroy();
  child.unref();
  return identity;
}
