/** Moves on what providers would do by themselves, for the sandboxes that this process uses. */
import { extensionMs } from '../core/dead-man.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { callProvider } from './provider-call.ts';

/** A failure is logged and tried again at the next look: the deadline is still minutes away. */
export async function extendDeadMen(engine: Engine): Promise<void> {
  await Promise.all([...engine.lives.values()].map((live) => extendIfNear(engine, live)));
}

async function extendIfNear(engine: Engine, live: LiveSandbox): Promise<void> {
  if (live.isResting || live.isExtending) return;
  const now = engine.now();
  const { policy } = live.record;
  const lastActiveAt = live.isBusy ? now : live.lastActiveAt;
  const ms = extensionMs({ policy, lastActiveAt, deadManAt: live.deadManAt, toldAt: live.deadManToldAt }, now);
  if (ms === undefined) return;
  const { capabilities } = await engine.ports.provider(live.record.provider, live.record.profile);
  if (!capabilities.has('extend')) return;
  live.isExtending = true;
  try {
    const at = await callProvider(engine, live.record, 'extend', async (provider, ref, signal) =>
      provider.extend?.(ref, ms, signal),
    );
    if (at === undefined) return;
    live.deadManAt = at;
    live.deadManToldAt = now;
    await engine.ports.store.patchSandbox(live.id, { deadManAt: at });
  } catch (cause) {
    engine.ports.log.warn({ sandboxId: live.id, error: describe(cause) }, 'deadline at the provider not moved on');
  } finally {
    live.isExtending = false;
  }
}
