/** Off the network without a cut: the sandbox is put to rest. */
import { SubletError } from '../core/errors.ts';
import type { SandboxRecord } from '../store/records.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { pauseSandbox, stopSandbox } from './move-sandbox.ts';

const CAUSE = 'its network could not be cut';

export type Contained =
  | 'paused'
  | 'stopped'
  | 'destroyed'
  /** Nothing of that could be done, and every sweep of this process tries it again. */
  | 'running on';

/** Takes the sandbox off the network by putting it to rest, in the mildest way its provider has. Returns what was done. */
export async function contain(engine: Engine, record: SandboxRecord): Promise<Contained> {
  engine.uncontained.set(record.id, record);
  // A store that cannot be read just now is no reason to leave it open.
  const present = (await engine.ports.store.getSandbox(record.id).catch(() => undefined)) ?? record;
  const done = asItIs(present) ?? (await putToRest(engine, present));
  if (done === undefined) return 'running on';
  engine.uncontained.delete(record.id);
  return done;
}

/** Puts to rest what its network could not be cut from in place, and says so. */
export async function containUncut(
  engine: Engine,
  record: SandboxRecord,
  cause: unknown,
  hint: string,
): Promise<never> {
  const state = await contain(engine, record);
  const why = cause === undefined ? 'not possible in place' : describe(cause);
  throw new SubletError(
    'NETWORK_NOT_ENFORCEABLE',
    `The network of ${record.id} could not be cut (${why}); it is ${state} now.`,
    { cause, details: { sandboxId: record.id, level: record.network, state }, hint },
  );
}

/** What could not be contained when it was asked for. If this process dies, what it left is seen to by others. */
export async function containAgain(engine: Engine): Promise<void> {
  for (const record of engine.uncontained.values()) await contain(engine, record);
}

function asItIs({ state }: SandboxRecord): Contained | undefined {
  return state === 'paused' || state === 'stopped' || state === 'destroyed' ? state : undefined;
}

async function putToRest(engine: Engine, record: SandboxRecord): Promise<Contained | undefined> {
  const attempts = [
    { done: 'paused', act: pauseSandbox },
    { done: 'stopped', act: stopSandbox },
    { done: 'destroyed', act: destroySandbox },
  ] as const;
  for (const { done, act } of attempts) {
    try {
      if ((await act(engine, record, CAUSE)) !== undefined) return done;
    } catch (error) {
      engine.ports.log.debug({ sandboxId: record.id, error: describe(error) }, 'milder containment not possible');
    }
  }
  return undefined;
}
