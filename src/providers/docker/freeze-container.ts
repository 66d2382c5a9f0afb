/** Puts a container to sleep and wakes it. */
import { type Clock, sleep } from '../../core/clock.ts';
import { findGroup } from './container-group.ts';
import type { DockerApi } from './docker-api.ts';
import { stuckError } from './docker-errors.ts';
import type { ContainerDetails } from './docker-types.ts';
import { BEGIN_MS, type ExecGate } from './exec-gate.ts';
import { helpOut } from './stuck-engine.ts';

/** The news of a sleep is never later than this, even on a busy machine. */
const NEWS_MS = 10_000;
const LOOK_MS = 20;
/** What the engine refuses because the container sleeps takes a moment to be refused. */
const REFUSE_MS = 500;
/** The kernel gives up on a freeze when processes are born meanwhile. */
const FREEZE_TRIES = 5;

/**
 * Docker notes a sleep when it has done it, and once more when it hears of it. News that comes after the container was
 * woken makes it call the container paused for a moment. So for a while after a wake, that it is paused is not believed.
 */
export class Waking {
  readonly #clock: Clock;
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isRecent(): boolean {
    return this.#clock.elapsed() < this.#until;
  }

  note(): void {
    this.#until = this.#clock.elapsed() + NEWS_MS;
  }

  forget(): void {
    this.#until = 0;
  }

  /** Until the engine calls the container awake. */
  async orLater<T>(work: () => Promise<T>, isAsleep: (error: unknown) => boolean, signal?: AbortSignal): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!this.isRecent || !isAsleep(error)) throw error;
        await sleep(this.#clock, LOOK_MS, signal);
      }
    }
  }
}

export interface Sleeper {
  readonly api: DockerApi;
  readonly clock: Clock;
  readonly gate: ExecGate;
  readonly waking: Waking | undefined;
  readonly look: () => Promise<ContainerDetails>;
}

export async function freezeContainer(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
  const { waking, gate, look } = sleeper;
  const { Id, State } = await look();
  if (!State.Paused || waking?.isRecent === true)
    await gate.sleep(Id, () => freezeUndisturbed(sleeper, Id, signal), signal);
  waking?.forget();
}

async function freezeUndisturbed(sleeper: Sleeper, id: string, signal: AbortSignal): Promise<void> {
  const { api, clock, waking, look } = sleeper;
  for (let tries = 1; ; tries++) {
    await commandsBegun(sleeper, BEGIN_MS, signal);
    try {
      await api.pause(id, signal);
      break;
    } catch (error) {
      const isPaused = (await look()).State.Paused;
      if (isPaused && waking?.isRecent !== true) break;
      if (!isPaused && tries === FREEZE_TRIES) throw error;
      await sleep(clock, LOOK_MS, signal);
    }
  }
  await letCommandsIn(sleeper, id, signal);
}

/**
 * False when it neither sleeps nor runs. One whose group is not frozen is frozen first: the engine wakes nothing else, and
 * whoever let commands in may have been killed at it.
 */
export async function thawContainer(sleeper: Sleeper, signal: AbortSignal): Promise<boolean> {
  const { api, clock, waking, look } = sleeper;
  const { Id, State } = await look();
  if (!State.Paused) return State.Running;
  await letCommandsIn(sleeper, Id, signal);
  await api.unpause(Id, signal).catch(async (error: unknown) => {
    if (!(await look()).State.Paused) return;
    const group = await findGroup(Id, clock);
    await group?.freeze().catch(() => undefined);
    await api.unpause(Id, signal).catch(async () => {
      if ((await look()).State.Paused) throw error;
    });
  });
  waking?.note();
  return true;
}

/** `work` under the conditions of a sleep, for what puts a container to sleep and wakes it by itself. */
export async function whileNoneBegins<T>(sleeper: Sleeper, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const { Id, State } = await sleeper.look();
  if (State.Paused || !State.Running) return work();
  return sleeper.gate.sleep(
    Id,
    async () => {
      await commandsBegun(sleeper, BEGIN_MS, signal);
      return work();
    },
    signal,
  );
}

/** Somebody else's command may get in between the last look and the sleep. */
async function letCommandsIn(sleeper: Sleeper, id: string, signal: AbortSignal): Promise<void> {
  if (await commandsBegun(sleeper, REFUSE_MS, signal)) return;
  const lookWhenBegun = async (): Promise<ContainerDetails> => {
    await commandsBegun(sleeper, BEGIN_MS, signal);
    return sleeper.look();
  };
  if (await helpOut(sleeper.clock, id, lookWhenBegun)) return;
  // Unless somebody has woken it meanwhile.
  if ((await sleeper.look()).State.Paused) throw stuckError(id);
}

/** Waits until no command is half-way into the container; false when one still is after `patienceMs`. */
async function commandsBegun({ api, clock, look }: Sleeper, patienceMs: number, signal: AbortSignal): Promise<boolean> {
  const until = clock.elapsed() + patienceMs;
  const isBeginning = async (id: string): Promise<boolean> => {
    const { Running, Pid } = await api.inspectExec(id, signal);
    return Running && Pid === 0;
  };
  for (;;) {
    const ids = (await look()).ExecIDs ?? [];
    const beginning = await Promise.all(ids.map((id) => isBeginning(id).catch(() => false)));
    if (!beginning.includes(true)) return true;
    if (clock.elapsed() >= until) return false;
    await sleep(clock, LOOK_MS, signal);
  }
}
