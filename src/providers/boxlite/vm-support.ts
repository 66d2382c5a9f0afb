/** Whether this machine can start a VM, and why not. */
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { SubletError } from '../../core/errors.ts';

export interface Machine {
  readonly platform: string;
  readonly arch: string;
  readonly canUse: (device: string) => Promise<'yes' | 'no' | 'missing'>;
  readonly readCpuInfo: () => Promise<string>;
}

export const thisMachine: Machine = {
  platform: process.platform,
  arch: process.arch,
  async canUse(device) {
    try {
      await access(device, constants.R_OK | constants.W_OK);
      return 'yes';
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'missing' : 'no';
    }
  },
  readCpuInfo: () => readFile('/proc/cpuinfo', 'utf8').catch(() => ''),
};

/** PROVIDER_UNUSABLE with the reason and what helps. */
export async function assertVmSupport(machine: Machine = thisMachine): Promise<void> {
  const problem = await findProblem(machine);
  if (problem === undefined) return;
  const hint = `${problem.fix} Or use a BoxLite server: set boxlite.url.`;
  throw new SubletError('PROVIDER_UNUSABLE', `This machine cannot start a VM: ${problem.reason}`, { hint });
}

async function findProblem({
  platform,
  arch,
  canUse,
  readCpuInfo,
}: Machine): Promise<{ readonly reason: string; readonly fix: string } | undefined> {
  if (platform === 'darwin' && arch === 'arm64') return undefined;
  if (platform !== 'linux' || !['x64', 'arm64'].includes(arch))
    return {
      reason: `BoxLite has no runtime for ${platform} on ${arch}.`,
      fix: 'Use Linux, or a Mac with Apple silicon.',
    };
  const kvm = await canUse('/dev/kvm');
  if (kvm === 'missing') return { reason: 'there is no /dev/kvm.', fix: 'Enable virtualization: sudo modprobe kvm.' };
  if (kvm === 'no')
    return { reason: 'this user may not use /dev/kvm.', fix: 'Run: sudo usermod -aG kvm "$USER", and log in again.' };
  if (arch === 'x64' && !/^flags\s*:.*\b(vmx|svm)\b/m.test(await readCpuInfo()))
    return {
      reason: 'its processor shows no virtualization (vmx or svm), as in a VM without nested virtualization.',
      fix: 'Enable it in the firmware, or nested virtualization at the host.',
    };
  return undefined;
}
