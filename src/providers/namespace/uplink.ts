/** An open network for a sandbox that shows nothing of the host's own loopback. */
import { access, constants, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SubletError } from '../../core/errors.ts';
import { BASE_ENV } from './privileges.ts';
import { isSameProcess, type ProcessIdentity } from './process-identity.ts';
import type { SandboxRecord, Uplink } from './sandbox-record.ts';
import { closeTap, mayOpenTun, openTap, TUN } from './tap-uplink.ts';
import { closeVeth, newVeth, openVeth, VETH_TOOLS } from './veth-uplink.ts';

export type UplinkTool = 'pasta' | 'slirp4netns' | 'veth';

const PREFERENCE: readonly UplinkTool[] = ['pasta', 'slirp4netns', 'veth'];

/** Some two seconds: the kernel lets a device go soon after what carried it. */
const MAX_LOOKS = 100;
/** The loopback, and what some kernels put down and unconnected into every network namespace. */
const NO_UPLINK: ReadonlySet<string> = new Set(
  'lo tunl0 gre0 gretap0 erspan0 ip_vti0 ip6_vti0 sit0 ip6tnl0 ip6gre0'.split(' '),
);

export interface UplinkSandbox {
  readonly name: string;
  readonly init: ProcessIdentity;
  readonly holder: ProcessIdentity;
}

/** The first way that this machine has, or why there is none and what would make one. */
export async function findUplink(
  wanted: readonly UplinkTool[] = PREFERENCE,
): Promise<UplinkTool | { readonly missing: string; readonly fix: string }> {
  const taps = wanted.filter((tool) => tool !== 'veth');
  const installed = (await Promise.all(taps.map(async (tool) => ((await onPath(tool)) ? [tool] : [])))).flat();
  const [tap] = installed;
  const mayTap = tap !== undefined && (await mayOpenTun());
  if (mayTap) return tap;
  const isRoot = process.getuid?.() === 0;
  if (wanted.includes('veth') && isRoot && (await Promise.all(VETH_TOOLS.map(onPath))).every(Boolean)) return 'veth';
  if (tap !== undefined) return { missing: `${TUN}, which this user may not open`, fix: `chmod 666 ${TUN} (as root)` };
  if (taps.length > 0) return { missing: taps.join(' or '), fix: 'apt-get install passt (or slirp4netns)' };
  if (!isRoot) return { missing: 'root for a pair of devices', fix: 'apt-get install passt (or slirp4netns)' };
  return { missing: 'ip and iptables for a pair of devices', fix: 'apt-get install iproute2 iptables' };
}

/** UNSUPPORTED where there is no way. What is `record`ed is enough to close it, also when opening it was cut short. */
export async function openUplink(
  { name, init, holder }: UplinkSandbox,
  wanted: UplinkTool | undefined,
  record: (uplink: Uplink) => void,
): Promise<void> {
  const found = await findUplink(wanted === undefined ? undefined : [wanted]);
  if (typeof found === 'object') {
    throw new SubletError('UNSUPPORTED', `An open network needs ${found.missing}.`, { hint: found.fix });
  }
  if (found !== 'veth') return record(await openTap(found, init, holder));
  const veth = newVeth();
  record(veth);
  await openVeth(veth, init, name);
}

/** Every open connection dies; processes live on. */
export async function closeUplink(uplink: Uplink | undefined): Promise<void> {
  if (uplink === undefined) return;
  await ('device' in uplink ? closeVeth(uplink) : closeTap(uplink));
}

/** Closes it, and returns when the sandbox itself has no device left but its loopback. PROVIDER_UNAVAILABLE when one stays. */
export async function cutOff({ name, init, uplink }: SandboxRecord): Promise<void> {
  await closeUplink(uplink);
  let devices: readonly string[] = [];
  for (let look = 0; look < MAX_LOOKS; look++) {
    if (init === undefined || !isSameProcess(init)) return;
    devices = await devicesOf(init);
    if (devices.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, Math.min(look, 20)));
  }
  throw new SubletError('PROVIDER_UNAVAILABLE', `The sandbox ${name} still has a network: ${devices.join(', ')}.`, {
    details: { devices },
    hint: 'Try again, or destroy it. Its network counts as open until the device is gone.',
  });
}

async function devicesOf({ pid }: ProcessIdentity): Promise<readonly string[]> {
  const table = await readFile(`/proc/${pid}/net/dev`, 'utf8').catch(() => 'unknown:');
  const names = [...table.matchAll(/^ *([^\s|]+):/gmu)].map(([, name = '']) => name);
  return names.filter((name) => !NO_UPLINK.has(name));
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
