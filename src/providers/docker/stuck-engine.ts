/**
 * Docker never answers again for a container that is frozen while a command is half-way into it: not to describe, to wake
 * or to remove it. It goes on when the kernel thaws the container's group, which it does not hear of.
 */
import { type Clock, sleep } from '../../core/clock.ts';
import { type ContainerGroup, findGroup } from './container-group.ts';
import type { DockerApi } from './docker-api.ts';
import { stuckError } from './docker-errors.ts';
import type { ContainerDetails } from './docker-types.ts';

export interface EnginePart {
  readonly api: DockerApi;
  readonly clock: Clock;
}

/** An engine that works describes a container within milliseconds, and a busy one is not harmed by help. */
const SILENCE_MS = 2_000;
/** A removal takes longer where there is much to remove. */
const LONG_SILENCE_MS = 5_000;
const HELP_MS = 20_000;

/** By the container's name or id. A container that sleeps does so afterwards too. */
export async function describeContainer(
  { api, clock }: EnginePart,
  name: string,
  signal?: AbortSignal,
): Promise<ContainerDetails> {
  const described = api.inspect(name, signal);
  if (await isOverWithin(clock, SILENCE_MS, described)) return described;
  // An engine that hangs with a container still lists it.
  const listed = await api.list([], signal);
  const id = listed.find(({ Id, Names }) => Id === name || Names.includes(`/${name}`))?.Id;
  if (id !== undefined) await helpOut(clock, id, () => api.inspect(id, signal));
  return described;
}

/** Thaws the container until `look` answers. False when it was not frozen, or nobody here may thaw it. */
export async function helpOut(clock: Clock, id: string, look: () => Promise<ContainerDetails>): Promise<boolean> {
  const group = await findGroup(id, clock);
  if (group === undefined || !(await group.isFrozen())) return false;
  await group.thaw().catch((cause: unknown) => Promise.reject(stuckError(id, cause)));
  const isHelped = await isOverWithin(clock, HELP_MS, look());
  await group.freeze().catch(() => undefined);
  if (!isHelped) throw stuckError(id);
  await thawIfAwake(group, await look());
  return true;
}

/** For work that is done with the container's sleep. */
export async function thawIfSilent<T>(clock: Clock, id: string, work: () => Promise<T>): Promise<T> {
  const thaw = async (): Promise<void> => (await findGroup(id, clock))?.thaw();
  const cancel = clock.schedule(LONG_SILENCE_MS, () => void thaw().catch(() => undefined), { ref: false });
  return work().finally(cancel);
}

/** Somebody else's wake may have been waiting for the same help. */
async function thawIfAwake(group: ContainerGroup, { State }: ContainerDetails): Promise<void> {
  if (!State.Paused) await group.thaw();
}

async function isOverWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const isOver = work.then(
    () => true,
    () => true,
  );
  const isLate = sleep(clock, ms, over.signal).then(
    () => false,
    () => true,
  );
  return Promise.race([isOver, isLate]).finally(() => over.abort());
}
