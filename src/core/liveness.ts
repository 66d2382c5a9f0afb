/** Whether the process that owns something still lives: a pure judgement of facts. */
import { isInHome, machineOf } from './host-id.ts';

export type Liveness = 'alive' | 'dead' | 'unknown';

/** Where a process runs, as far as telling its life apart from another's needs. */
export interface ProcessPlace {
  readonly hostId: string;
  /** Empty where the machine cannot tell. */
  readonly bootId: string;
  readonly pidNamespace: string;
}

export interface LifeSigns {
  /** What the kernel says of its pid and start time; undefined when it could not be asked. */
  readonly isRunning: boolean | undefined;
  /** For how long its heartbeat has stood still under our eyes, by a clock that nobody sets. */
  readonly silentMs: number;
}

export const HEARTBEAT_MS = 10_000;

/** Thirty heartbeats: a machine under load or a paused virtual machine is not dead. */
export const SILENCE_LIMIT_MS: number = 30 * HEARTBEAT_MS;

/** True when the kernel here can be asked about the owner's pid. */
export function isSamePlace(owner: ProcessPlace, here: ProcessPlace): boolean {
  const isSameMachine = machineOf(owner.hostId) === machineOf(here.hostId);
  return isSameMachine && !isOtherBoot(owner, here) && owner.pidNamespace === here.pidNamespace;
}

/**
 * On the same machine a process is as alive as the kernel says, and nothing of a home outlives a boot. Elsewhere only its
 * heartbeats speak; the time of day, which can be set, does not count. Of another home and another boot it may be on a machine
 * that was made from the same image.
 */
export function judgeLife(owner: ProcessPlace, here: ProcessPlace, signs: LifeSigns): Liveness {
  if (isInHome(owner.hostId, here.hostId) && isOtherBoot(owner, here)) return 'dead';
  if (isSamePlace(owner, here)) {
    if (signs.isRunning === undefined) return 'unknown';
    return signs.isRunning ? 'alive' : 'dead';
  }
  return signs.silentMs >= SILENCE_LIMIT_MS ? 'dead' : 'unknown';
}

function isOtherBoot(owner: ProcessPlace, here: ProcessPlace): boolean {
  return owner.bootId !== '' && here.bootId !== '' && owner.bootId !== here.bootId;
}
