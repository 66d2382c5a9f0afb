/** An open network by a pair of devices and address translation: needs root and no program that carries the traffic. */
import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { SubletError } from '../../core/errors.ts';
import { BASE_ENV } from './privileges.ts';
import type { ProcessIdentity } from './process-identity.ts';
import type { Veth } from './sandbox-record.ts';
import { CLOSE_VETH, OPEN_VETH } from './veth-scripts.ts';

/** Programs it is made with. */
export const VETH_TOOLS: readonly string[] = ['ip', 'iptables', 'iptables-save', 'iptables-restore', 'flock'];

const TIMEOUT_MS = 30_000;
const CANDIDATES = 24;
/** Private ranges and how many subnets of four addresses each has. */
const RANGES: readonly (readonly [base: number, subnets: number])[] = [
  [0x0a_80_00_00, 2 ** 21],
  [0xac_10_00_00, 2 ** 18],
  [0xc0_a8_00_00, 2 ** 14],
];

/** A name no other sandbox has, at most as long as a device's may be. To be recorded before it is opened. */
export function newVeth(): Veth {
  return { device: `sublet-${randomBytes(4).toString('hex')}` };
}

/** Connects the network namespace of `init`. Rules are in place before the first packet can pass. */
export async function openVeth({ device }: Veth, init: ProcessIdentity, sandbox: string): Promise<void> {
  await runScript(OPEN_VETH, [device, String(init.pid), plain(sandbox), ...candidates()], (said) => {
    return new SubletError('CREATE_FAILED', `The sandbox could not be connected by a pair of devices: ${said}`, {
      hint: 'Use --network none, or install pasta or slirp4netns.',
    });
  });
}

/** Cuts what is connected and removes what is left of it on the host. Already gone is success. */
export async function closeVeth({ device }: Veth): Promise<void> {
  await runScript(CLOSE_VETH, [device], (said) => {
    return new SubletError('PROVIDER_UNAVAILABLE', `The network device ${device} could not be removed: ${said}`, {
      hint: 'Try again; `ip link` and `iptables-save` show what is left.',
    });
  });
}

/** As it may stand in a rule's comment. */
function plain(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/gu, '_').slice(0, 200);
}

/** Any of them may clash with a network of the host's, so there are several to try, of each range. */
function candidates(): readonly string[] {
  return Array.from({ length: CANDIDATES }, (_, index) => {
    const [base, subnets] = RANGES[index % RANGES.length] as (typeof RANGES)[number];
    const address = base + 4 * randomInt(subnets);
    return [address + 1, address + 2].map(dotted).join(',');
  });
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');
}

function runScript(script: string, args: readonly string[], failed: (said: string) => SubletError): Promise<void> {
  const options = { cwd: '/', env: BASE_ENV, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve, reject) => {
    execFile('sh', ['-c', script, 'sh', ...args], options, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(failed(stderr.trim() || error.message));
    });
  });
}
