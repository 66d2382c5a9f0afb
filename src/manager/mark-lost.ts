/** The provider says a sandbox is gone, and we did not do it. */
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';

/** undefined when another process was first. */
export async function markLost(engine: Engine, sandbox: SandboxRecord): Promise<SandboxRecord | undefined> {
  await engine.register();
  await engine.letGo(sandbox.id);
  return engine.ports.store.moveSandbox(sandbox.id, {
    to: 'lost',
    at: engine.now(),
    cause: 'the provider no longer has it',
    ...engine.signature,
    from: [sandbox.state],
    patch: { dueAt: undefined },
  });
}
