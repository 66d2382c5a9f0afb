/** Puts a container to sleep and wakes it. */
import { type Clock, sleep } from '../../core/clock.ts';
import type { DockerApi } from './docker-api.ts';
import type { ContainerDetails } from './docker-types.ts';
import { BEGIN_MS, type ExecGate } from './exec-gate.ts';

/** The news of a sleep is never later than this, even on a busy machine. */
const NEWS_MS = 10_000;
const LOOK_MS = 20;
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
}

/** False when it neither sleeps nor runs. */
export async function thawContainer({ api, waking, look }: Sleeper, signal: AbortSignal): Promise<boolean> {
  const { Id, State } = await look();
  if (!State.Paused) return State.Running;
  await api.unpause(Id, signal).catch(async (error: unknown) => {
    if ((await look()).State.Paused) throw error;
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

/**
 * Waits until no command is half-way into the container; false when one still is after `patienceMs`. The engine never
 * answers again for one that is frozen with it, and a process may have been killed a moment after it asked for a command.
 */
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
