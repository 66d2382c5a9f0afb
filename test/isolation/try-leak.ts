/** Leaves something in a sandbox, resets it, and looks with the next holder's eyes. */
import { expect } from 'vitest';
import type { SandboxHandle, SandboxProvider } from '../../src/provider/provider.ts';
import type { Leak } from './leaks.ts';

/** Undone; or said not to be, and thrown away; or not to be left at all. Anything else fails the test. */
export type LeakOutcome = 'wiped' | 'discarded' | 'refused';

export async function tryLeak(
  provider: SandboxProvider,
  sandbox: SandboxHandle,
  leak: Leak,
  signal: AbortSignal,
): Promise<LeakOutcome> {
  const fresh = await seen(sandbox, leak.look);
  await sandbox.commands.run(leak.leave, { timeoutMs: 30_000 }).catch(() => undefined);
  const isLeft = leak.breaksIt === true || (await seen(sandbox, leak.look)) !== fresh;
  if (leak.mayBeRefused !== true) expect(isLeft, 'nothing was left that could be seen').toBe(true);
  const report = await provider.reset?.(sandbox.ref, signal);
  if (report?.clean !== true) {
    expect(report?.differences).not.toEqual([]);
    return 'discarded';
  }
  const next = await provider.attach(sandbox.ref, signal);
  if (next === undefined) throw new Error('It is gone after a clean reset.');
  expect(await seen(next, leak.look)).toBe(fresh);
  return isLeft ? 'wiped' : 'refused';
}

async function seen(sandbox: SandboxHandle, look: string): Promise<string> {
  const { stdout } = await sandbox.commands.run(look, { timeoutMs: 30_000 });
  return stdout;
}
