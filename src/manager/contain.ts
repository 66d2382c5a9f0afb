/** Off the network without a cut: the sandbox is put to rest. */
import type { SandboxRecord } from '../store/records.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { pauseSandbox, stopSandbox } from './move-sandbox.ts';

/** Takes the sandbox off the network by putting it to rest, in the mildest way its provider has. Returns what was done. */
export async function contain(engine: Engine, record: SandboxRecord): Promise<'paused' | 'stopped' | 'destroyed'> {
  const cause = 'its network could not be cut';
  const attempts = [
    { done: 'paused', act: pauseSandbox },
    { done: 'stopped', act: stopSandbox },
  ] as const;
  const present = (await engine.ports.store.getSandbox(record.id)) ?? record;
  if (present.state === 'paused' || present.state === 'stopped') return present.state;
  for (const { done, act } of attempts) {
    try {
      if ((await act(engine, present, cause)) !== undefined) return done;
    } catch (error) {
      engine.ports.log.debug({ sandboxId: record.id, error: describe(error) }, 'milder containment not possible');
    }
  }
  await destroySandbox(engine, present, cause).catch(() => {});
  return 'destroyed';
}
