/** What of a session cannot go with it, in words. */
import type { LeftBehind } from '../../core/migration.ts';
import type { ResolvedSandbox } from '../../core/spec.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { SandboxRecord } from '../../store/records.ts';

export interface DepartureFacts {
  readonly source: SandboxRecord;
  readonly workdir: string;
  readonly capabilities: ReadonlySet<Capability>;
  /** Of background commands that run. */
  readonly running: number;
  readonly wasPaused: boolean;
  readonly target: ResolvedSandbox;
  readonly targetCapabilities: ReadonlySet<Capability>;
  /** What the packer said. */
  readonly complaints?: string | undefined;
}

export function leftBehind(facts: DepartureFacts): readonly LeftBehind[] {
  const { source, workdir, capabilities, running, target, targetCapabilities } = facts;
  const left: LeftBehind[] = [
    {
      what: 'outside',
      message: `Files outside ${workdir}, installed software among them, stay behind; "${target.profile}" has its own.`,
    },
    { what: 'owners', message: 'Files belong to the user of the new sandbox; times and modes are kept.' },
  ];
  if (running > 0) left.push({ what: 'processes', message: `${count(running, 'background command')} ended.` });
  if (facts.wasPaused) left.push({ what: 'memory', message: 'It was paused: what was in memory is gone.' });
  if (capabilities.has('ports'))
    left.push({ what: 'ports', message: portsMessage(target.profile, targetCapabilities) });
  if (source.spec.contextId !== undefined)
    left.push({
      what: 'volume',
      message: `The volume "${source.spec.contextId}" stays with provider "${source.provider}"; its files were copied.`,
    });
  const mounts = (source.spec.mounts ?? []).filter(
    (mount) => !target.mounts.some((other) => other.target === mount.target),
  );
  if (mounts.length > 0)
    left.push({ what: 'mounts', message: `Not mounted any more: ${mounts.map((mount) => mount.target).join(', ')}.` });
  const sockets = (facts.complaints ?? '').split('\n').filter((line) => line.includes('socket ignored')).length;
  if (sockets > 0) left.push({ what: 'sockets', message: `${count(sockets, 'socket')} in ${workdir} not copied.` });
  return left;
}

function portsMessage(profile: string, targetCapabilities: ReadonlySet<Capability>): string {
  return targetCapabilities.has('ports')
    ? 'Ports have other addresses: ask for them again.'
    : `Ports cannot be reached any more: "${profile}" has none.`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? ' is' : 's are'}`;
}
