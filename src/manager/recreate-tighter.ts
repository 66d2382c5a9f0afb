/** A tighter network where it cannot be cut in place: the same workspace in a new sandbox, and the old one gone. */
import type { SessionNotice } from '../core/api.ts';
import { SubletError, toSubletError } from '../core/errors.ts';
import type { ResolvedSandbox } from '../core/spec.ts';
import type { BoundSession, SandboxRecord, SessionRecord } from '../store/records.ts';
import { carryOver } from './carry-over.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { makeSandbox, prepareSandbox } from './make-sandbox.ts';
import { pauseSandbox, stopSandbox } from './move-sandbox.ts';

export interface Recreated {
  readonly session: SessionRecord;
  readonly live: LiveSandbox;
  readonly notice: SessionNotice;
}

/**
 * undefined when another process replaced the sandbox first. When it cannot be done the old sandbox is paused, else stopped, else
 * destroyed, never left open, and the call rejects with NETWORK_NOT_ENFORCEABLE.
 */
export async function recreateTighter(
  engine: Engine,
  bound: BoundSession,
  old: LiveSandbox,
  wanted: ResolvedSandbox,
  signal: AbortSignal | undefined,
): Promise<Recreated | undefined> {
  const isAwake = bound.sandbox.state === 'running';
  try {
    if (isAwake) await killCommands(old);
    const made = await makeBound(engine, bound, wanted, signal);
    if (made === undefined) return undefined;
    const isCarried = isAwake && wanted.contextId === undefined;
    if (isCarried) await carryOver(old.handle, made.live.handle, signal);
    await putAway(engine, bound.sandbox, isCarried || wanted.contextId !== undefined);
    return { ...made, notice: notice(engine, bound.sandbox, made.live, isCarried) };
  } catch (cause) {
    const kept = await contain(engine, bound.sandbox);
    throw notEnforceable(bound, toSubletError(cause, 'PROVIDER_UNAVAILABLE', signal), kept);
  } finally {
    await old.close().catch(() => {});
  }
}

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

async function makeBound(
  engine: Engine,
  { session, sandbox }: BoundSession,
  wanted: ResolvedSandbox,
  signal: AbortSignal | undefined,
): Promise<Pick<Recreated, 'session' | 'live'> | undefined> {
  const cause = `network tightened to "${session.network}"`;
  const prepared = await prepareSandbox(engine, { wanted, kind: session.kind, sessionKey: session.key, cause });
  let rebound = session;
  const live = await makeSandbox(
    engine,
    prepared,
    async (row) => {
      const replaced = await engine.ports.store.replaceSandbox(session.key, sandbox.id, row);
      if (!replaced.won || replaced.bound === undefined) return undefined;
      rebound = replaced.bound.session;
      return replaced.bound.sandbox;
    },
    signal,
  );
  return live && { session: rebound, live };
}

// What runs on in an open sandbox can still send what it has read.
async function killCommands(old: LiveSandbox): Promise<void> {
  const commands = await old.handle.commands.list();
  const running = commands.filter((command) => command.running);
  await Promise.all(running.map(async ({ id }) => (await old.handle.commands.attach(id)).kill()));
}

async function putAway(engine: Engine, old: SandboxRecord, isWorkspaceSafe: boolean): Promise<void> {
  if (!isWorkspaceSafe) {
    await contain(engine, old);
    return;
  }
  // The row is `destroying` whatever the provider answers, so the sweep finishes what fails here.
  await destroySandbox(engine, old, 'replaced by one with a tighter network').catch(() => {});
}

function notice(engine: Engine, old: SandboxRecord, live: LiveSandbox, isCarried: boolean): SessionNotice {
  const files = isCarried ? 'Its working directory was carried over' : 'Its files were left behind';
  const message = `Sandbox ${old.id} could not be cut off in place. ${files}; its processes are gone; ${live.id} takes its place.`;
  return { type: 'replaced', at: engine.now(), lostSandboxId: old.id, message };
}

function notEnforceable({ session, sandbox }: BoundSession, cause: SubletError, kept: string): SubletError {
  return new SubletError(
    'NETWORK_NOT_ENFORCEABLE',
    `Sandbox ${sandbox.id} cannot be brought to network level "${session.network}": ${cause.message} It is ${kept} now.`,
    {
      cause,
      details: { sandboxId: sandbox.id, provider: sandbox.provider, level: session.network, state: kept },
      hint: `Use a provider that can enforce "${session.network}".`,
    },
  );
}
