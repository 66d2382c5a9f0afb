/** Reset: the container is removed and made again as it was asked for, and what the engine then says of it is looked at. */
import type { ResetReport } from '../../provider/provider.ts';
import type { ContainerFacts, MadeOf } from './container-label.ts';
import type { ContainerMaker } from './container-maker.ts';
import type { DockerApi } from './docker-api.ts';
import { isGone } from './docker-errors.ts';
import type { ContainerProcesses, ContainerDetails, PathChange } from './docker-types.ts';
import { networkOf } from './network-level.ts';

export interface ResetOutcome {
  readonly report: ResetReport;
  /** The container in its place, if it came to that. */
  readonly made?: ContainerDetails | undefined;
}

export async function resetContainer(
  api: DockerApi,
  maker: ContainerMaker,
  before: ContainerDetails,
  facts: ContainerFacts,
  signal: AbortSignal,
): Promise<ResetOutcome> {
  const body = facts.made;
  if (body === undefined) return unclean(['it goes with its maker, or nobody noted how it was made']);
  const lasting = whatOutlives(before, body);
  if (lasting.length > 0) return unclean(lasting);
  await maker.remove(before.Id, signal);
  const name = before.Name.replace(/^\//, '');
  const made = await maker.makeOf({ ...body, Labels: before.Config.Labels ?? {} }, { name }, signal);
  if (made === undefined) return unclean(['somebody else made another of its name meanwhile']);
  const differences = await differencesOf(api, before, made.details.Id, body, signal);
  return { report: { clean: differences.length === 0, differences }, made: made.details };
}

/** What others see or what lies elsewhere cannot be undone from here. */
function whatOutlives(before: ContainerDetails, { HostConfig }: MadeOf): readonly string[] {
  const isCut = networkOf(before) === 'none' && HostConfig.NetworkMode !== 'none';
  return [
    ...(isCut ? [`the network is "none" and was "${HostConfig.NetworkMode}"`] : []),
    ...HostConfig.Mounts.filter(({ ReadOnly, Source }) => !ReadOnly && Source !== undefined).map(
      ({ Type, Target }) =>
        `${Target} is a ${Type === 'volume' ? 'volume' : 'directory of the host'} that was written and outlives it`,
    ),
  ];
}

async function differencesOf(
  api: DockerApi,
  before: ContainerDetails,
  id: string,
  body: MadeOf,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [after, changes, processes, isOldGone] = await Promise.all([
    api.inspect(id, signal),
    api.changes(id, signal),
    api.top(id, signal),
    api.inspect(before.Id, signal).then(() => false, isGone),
  ]);
  const volumes = new Set((before.Mounts ?? []).map((mount) => mount.Name));
  const [first] = body.Entrypoint ?? [];
  return [
    ...(isOldGone && after.Id !== before.Id ? [] : ['the old container is still there']),
    ...(after.Image === before.Image ? [] : [`the image ${body.Image} is another one now`]),
    ...(networkOf(after) === networkOf(before) ? [] : [`the network is "${networkOf(after)}"`]),
    ...(after.Mounts ?? [])
      .filter(({ Type, Name }) => Type === 'volume' && volumes.has(Name))
      .map(({ Destination }) => `the volume of before at ${Destination}`),
    ...changes.filter((change) => !isEnginesOwn(change, body)).map(({ Path }) => `a file that was not there: ${Path}`),
    ...commandLines(processes)
      .filter((line) => !line.startsWith(`${first} `) && line !== first)
      .map((line) => `a process that was not there: ${line}`),
  ];
}

/** Podman may leave the columns of a line together; the command is the last of them. */
function commandLines({ Titles, Processes }: ContainerProcesses): readonly string[] {
  const command = Titles.findIndex((title) => title === 'CMD' || title === 'COMMAND');
  const before = (Titles[0] ?? '').trim().split(/\s+/).length - 1;
  const rest = new RegExp(`^\\s*(?:\\S+\\s+){${before}}`);
  return (Processes ?? []).map((fields) =>
    command === -1 ? (fields[0] ?? '').replace(rest, '') : (fields[command] ?? ''),
  );
}

/** The engine makes the working directory and the places of mounts, and touches the directories above them. */
function isEnginesOwn({ Path, Kind }: PathChange, { WorkingDir, HostConfig }: MadeOf): boolean {
  const places = [WorkingDir, ...HostConfig.Mounts.map(({ Target }) => Target), ...Object.keys(HostConfig.Tmpfs ?? {})];
  return Kind !== 2 && [...places, ...ENGINE_PLACES].some((place) => place === Path || place.startsWith(`${Path}/`));
}

/** What the engine puts into every container. */
const ENGINE_PLACES = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf', '/etc/mtab', '/dev/shm', '/run/secrets'];

function unclean(differences: readonly string[]): ResetOutcome {
  return { report: { clean: false, differences } };
}
