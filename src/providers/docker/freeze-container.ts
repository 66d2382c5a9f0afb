/** Puts a container to sleep and wakes it. */
import { type Clock, sleep } from '../../core/clock.ts';
import type { DockerApi } from './docker-api.ts';
import type { ContainerDetails } from './docker-types.ts';

/** The news of a sleep is never later than this, even on a busy machine. */
const NEWS_MS = 10_000;
const LOOK_MS = 20;
/** A command that has not begun after this long will not. */
const BEGIN_MS = 5_000;
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
  readonly waking: Waking | undefined;
  readonly look: () => Promise<ContainerDetails>;
}

export async function freezeContainer({ api, clock, waking, look }: Sleeper, signal: AbortSignal): Promise<void> {
  const { Id, State } = await look();
  if (!State.Paused) await commandsBegun({ api, clock, look }, signal);
  for (let tries = 1; !State.Paused || waking?.isRecent === true; tries++) {
    try {
      await api.pause(Id, signal);
      break;
    } catch (error) {
      const isPaused = (await look()).State.Paused;
      if (isPaused && waking?.isRecent !== true) break;
      if (!isPaused && tries === FREEZE_TRIES) throw error;
      await sleep(clock, LOOK_MS, signal);
    }
  }
  waking?.forget();
}

/**
 * Until no command is half-way into the container: the engine never answers again for one that is frozen with it, and a
 * process may have been killed a moment after it asked for a command.
 */
async function commandsBegun({ api, clock, look }: Omit<Sleeper, 'waking'>, signal: AbortSignal): Promise<void> {
  const until = clock.elapsed() + BEGIN_MS;
  const isBeginning = async (id: string): Promise<boolean> => {
    const { Running, Pid } = await api.inspectExec(id, signal);
    return Running && Pid === 0;
  };
  while (clock.elapsed() < until) {
    const ids = (await look()).ExecIDs ?? [];
    const beginning = await Promise.all(ids.map((id) => isBeginning(id).catch(() => false)));
    if (!beginning.includes(true)) return;
    await sleep(clock, LOOK_MS, signal);
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
