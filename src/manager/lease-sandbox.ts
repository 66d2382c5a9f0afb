/** The exclusive use of a sandbox that exists, as its caller holds it. */
import type { Lease, LeaseOptions } from '../core/api.ts';
import { SubletError } from '../core/errors.ts';
import type { NetworkLevel } from '../core/network.ts';
import type { SandboxRecord } from '../store/records.ts';
import { createAgentHandle } from './agent-handle.ts';
import { checkLevel } from './call-rules.ts';
import type { Engine } from './engine.ts';
import { findSandbox } from './find-sandbox.ts';
import type { KeptLease } from './kept-lease.ts';
import { takeLease } from './kept-lease.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { openSandbox } from './open-sandbox.ts';
import { endWith } from './pools/after-use.ts';
import { SandboxHolder } from './sandbox-holder.ts';
import { tightenLeased } from './tighten-leased.ts';

/** Leased before it is touched, so that nobody else wakes or uses it meanwhile. SANDBOX_NOT_FOUND, LEASE_HELD, STATE_CONFLICT for what is ephemeral, or as for `open`. */
export async function leaseSandbox(engine: Engine, options: LeaseOptions): Promise<Lease> {
  engine.assertOpen();
  const record = await findSandbox(engine.ports.store, options.sandboxId);
  if (record.ephemeral) throw ephemeralError(record);
  const kept = await takeLease(engine, record, options);
  // What a pool's sandbox is used for must not be seen by whoever gets it next.
  if (record.pool !== undefined) kept.giveBack = endWith(engine, kept, record);
  try {
    const live = await openSandbox(engine, record, `leased to ${kept.holder}`, kept.token);
    return toLease(engine, kept, live);
  } catch (cause) {
    await kept.release('it could not be used').catch(() => {});
    throw cause;
  }
}

// Its maker is at work in it and would be refused there by whoever leases it.
function ephemeralError({ id }: SandboxRecord): SubletError {
  return new SubletError('STATE_CONFLICT', `Sandbox ${id} was made for one purpose and belongs to its maker.`, {
    details: { sandboxId: id },
    hint: 'Lease the sandbox of a session.',
  });
}

/** `env`: variables of the holder's commands, beyond those of the sandbox. */
export function toLease(
  engine: Engine,
  kept: KeptLease,
  live: LiveSandbox,
  env?: Readonly<Record<string, string>>,
): Lease {
  const holder = new SandboxHolder(engine, live);
  let released: Promise<void> | undefined;
  const tracking = {
    id: () => live.id,
    live: () => {
      if (released === undefined) return holder.awake(kept);
      throw new SubletError('CLOSED', `This lease on sandbox ${live.id} was released.`, { hint: 'Ask for a new one.' });
    },
    now: () => engine.now(),
    ends: () => kept.lost,
    env,
  };
  const agent = createAgentHandle(tracking, engine.ports.clock);
  const setNetwork = async (level: NetworkLevel, reason: string): Promise<void> => {
    checkLevel(level);
    return tightenLeased(engine, await tracking.live(), level, reason);
  };
  const release = (): Promise<void> => (released ??= kept.release('released by its holder'));
  return Object.freeze<Lease>({
    agent,
    sandboxId: live.id,
    commands: agent.commands,
    files: agent.files,
    runCode: (language, code, runOptions) => agent.runCode(language, code, runOptions),
    shell: (shellOptions) => agent.shell(shellOptions),
    token: kept.token,
    holder: kept.holder,
    lost: kept.lost,
    markPrivate: (reason) => setNetwork('none', reason),
    setNetwork,
    release,
    [Symbol.asyncDispose]: release,
  });
}
