/** What the engine on this machine allows, for `sublet doctor`. */
import { toSubletError } from '../../core/errors.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { Finding, Probe } from '../../provider/provider.ts';
import { DockerApi } from './docker-api.ts';
import { parseDockerConfig } from './docker-config.ts';
import type { EngineInfo } from './docker-types.ts';
import { surroundingsOf } from './engine-candidates.ts';
import { findEngine } from './find-engine.ts';

export async function probeDocker(context: ProviderContext): Promise<Probe> {
  try {
    const config = parseDockerConfig(context.options);
    const client = await findEngine(config.host, context.clock, surroundingsOf(context));
    try {
      const info = await new DockerApi(client).info();
      return { usable: true, findings: [engineFinding(client.address, info), ...findingsOf(info, config.runtime)] };
    } finally {
      client.close();
    }
  } catch (cause) {
    const error = toSubletError(cause, 'PROVIDER_UNUSABLE');
    return { usable: false, findings: [{ name: 'engine', level: 'fail', message: error.message, fix: error.hint }] };
  }
}

/** overlay2 limits a container's disk only on xfs with project quotas; btrfs and zfs always can. */
export function canLimitDisk({ Driver, DriverStatus }: EngineInfo): boolean {
  if (Driver === 'btrfs' || Driver === 'zfs' || Driver === 'windowsfilter') return true;
  const status = new Map(DriverStatus ?? []);
  return (
    Driver === 'overlay2' && status.get('Backing Filesystem') === 'xfs' && status.get('Supports pquota') === 'true'
  );
}

function engineFinding(address: string, info: EngineInfo): Finding {
  return { name: 'engine', level: 'ok', message: `${info.ServerVersion} at ${address} (${info.OperatingSystem}).` };
}

function findingsOf(info: EngineInfo, runtime: string | undefined): Finding[] {
  const findings: Finding[] = [
    limit('memory limit', info.MemoryLimit),
    limit('CPU limit', info.CpuCfsQuota !== false),
    limit('process limit', info.PidsLimit !== false),
    canLimitDisk(info)
      ? { name: 'disk limit', level: 'ok', message: `The storage driver ${info.Driver} enforces it.` }
      : {
          name: 'disk limit',
          level: 'note',
          message: `The storage driver ${info.Driver} cannot limit a container's disk here.`,
          fix: "Keep the engine's data on xfs mounted with pquota.",
        },
  ];
  const security = (info.SecurityOptions ?? []).join(' ');
  findings.push(
    security.includes('seccomp')
      ? { name: 'seccomp', level: 'ok', message: 'System calls are filtered.' }
      : {
          name: 'seccomp',
          level: 'note',
          message: 'System calls are not filtered.',
          fix: 'Use a kernel and engine with seccomp.',
        },
  );
  if (security.includes('rootless'))
    findings.push({ name: 'rootless', level: 'ok', message: 'The engine runs without root.' });
  if (runtime !== undefined && !(runtime in (info.Runtimes ?? {}))) {
    const known = Object.keys(info.Runtimes ?? {}).join(', ');
    findings.push({
      name: 'runtime',
      level: 'fail',
      message: `The engine has no runtime "${runtime}".`,
      fix: `It has: ${known}.`,
    });
  }
  return findings;
}

function limit(name: string, isThere: boolean): Finding {
  return isThere
    ? { name, level: 'ok', message: 'The engine enforces it.' }
    : {
        name,
        level: 'note',
        message: 'The engine cannot enforce it.',
        fix: 'Enable the cgroup controller in the kernel.',
      };
}
