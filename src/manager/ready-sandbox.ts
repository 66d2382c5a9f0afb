/** From a row to a handle that may be given out: found, awake, answering, and with a network at least as tight as its row says. */
import { SubletError } from '../core/errors.ts';
import type { NetworkFact } from '../core/network.ts';
import { violates } from '../core/network.ts';
import type { SandboxState } from '../core/states.ts';
import type { SandboxHandle } from '../provider/provider.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { checkHealth, isHealthKnown } from './health.ts';
import { contain } from './contain.ts';
import { LiveSandbox } from './live-sandbox.ts';
import { wakeSandbox } from './move-sandbox.ts';
import { callProvider } from './provider-call.ts';

export type Readiness =
  /** `restarted`: the provider had it without processes although nobody of ours stopped it. */
  | { readonly status: 'ready'; readonly live: LiveSandbox; readonly restarted?: boolean }
  /** The provider says it is gone. */
  | { readonly status: 'lost' }
  /** Its network is weaker than its row allows and cannot be cut in place. It was not woken. */
  | { readonly status: 'unsafe'; readonly live: LiveSandbox }
  /** The row moved on meanwhile: look again. */
  | { readonly status: 'changed' };

export interface ReadyOptions {
  /** Variables for every command, not stored anywhere: asked for only when a handle has to be made. */
  readonly env: () => Promise<Readonly<Record<string, string>>>;
  readonly cause: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * `asked` is running, paused or stopped. PROVIDER_UNAVAILABLE when it cannot be found out, or when the sandbox is there and does not
 * answer: unknown is not gone.
 */
export function readySandbox(engine: Engine, asked: SandboxRecord, options: ReadyOptions): Promise<Readiness> {
  return engine.exclusively(asked.id, async () => {
    const live = engine.lives.get(asked.id);
    // Another use may have woken it while this one waited for its turn: its handle is not to be taken from it.
    const isStale = live !== undefined && asked.state !== 'running';
    const record = isStale ? ((await engine.ports.store.getSandbox(asked.id)) ?? asked) : asked;
    if (!canRun(record.state)) return { status: 'changed' };
    if (live !== undefined && record.state === 'running') live.isResting = false;
    if (live !== undefined && isUsable(engine, record, live)) return { status: 'ready', live };
    if (
      live !== undefined &&
      record.state === 'running' &&
      !violates(live.network, record.network) &&
      live.network !== 'unknown'
    ) {
      if (await checkHealth(engine, live, options.signal)) return { status: 'ready', live };
    }
    return attachAfresh(engine, record, options);
  });
}

function canRun(state: SandboxState): boolean {
  return state === 'running' || state === 'paused' || state === 'stopped';
}

/** True when nothing has to be asked before the handle is used. */
export function isUsable(engine: Engine, record: SandboxRecord, live: LiveSandbox): boolean {
  return record.state === 'running' && !violates(live.network, record.network) && isHealthKnown(live, engine.now());
}

async function attachAfresh(engine: Engine, record: SandboxRecord, options: ReadyOptions): Promise<Readiness> {
  await engine.register();
  const env = await options.env();
  const found = await attach(engine, record, env, options.signal);
  if (found === undefined) return { status: 'lost' };
  await engine.letGo(record.id);
  const network = await enforceNetwork(engine, record, found);
  if (network === undefined) return { status: 'unsafe', live: new LiveSandbox(record, found, env, engine.now()) };
  const running = await wakeSandbox(engine, record, found, env, options.cause, options.signal);
  if (running === undefined) {
    await found.close();
    return { status: 'changed' };
  }
  if (violates(network, running.network)) {
    // It was tightened while it was being woken: whoever did that counts on its being off the network.
    await found.close();
    await contain(engine, running);
    return { status: 'changed' };
  }
  const handle = isAwake(record, found) ? found : await attachAwake(engine, running, found, env, options.signal);
  if (handle === undefined) return { status: 'lost' };
  const owned = await own(engine, running);
  if (owned === undefined || violates(network, owned.network)) {
    await handle.close();
    return { status: 'changed' };
  }
  const live = new LiveSandbox(owned, handle, env, engine.now());
  live.network = network;
  engine.lives.set(live.id, live);
  const restarted = found.state === 'stopped' && record.state !== 'stopped';
  if (restarted) await recordRestart(engine, running);
  if (isHealthKnown(live, engine.now()) || (await checkHealth(engine, live, options.signal)))
    return { status: 'ready', live, restarted };
  live.isDoubted = true;
  throw new SubletError('PROVIDER_UNAVAILABLE', `Sandbox ${record.id} is there but does not answer.`, {
    details: { sandboxId: record.id, provider: record.provider },
    hint: `Try again, or give it up with: sublet rm ${record.id}`,
  });
}

async function recordRestart(engine: Engine, { id, sessionKey }: SandboxRecord): Promise<void> {
  const cause = 'its processes had ended; its files are kept';
  await engine.ports.store.appendEvents([
    { at: engine.now(), type: 'sandbox.started', sandboxId: id, sessionKey, ownerId: engine.ownerId, cause },
  ]);
}

function attach(
  engine: Engine,
  record: SandboxRecord,
  env: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<SandboxHandle | undefined> {
  return callProvider(
    engine,
    record,
    'attach',
    (provider, ref, either) => provider.attach(ref, either, { env }),
    signal,
  );
}

/** The network as it is once it is as tight as the row demands; undefined when it cannot be. Before waking, so that nothing runs with a weaker one. */
async function enforceNetwork(
  engine: Engine,
  record: SandboxRecord,
  handle: SandboxHandle,
): Promise<NetworkFact | undefined> {
  if (!violates(handle.network, record.network)) return handle.network;
  const isCut = await cutNetwork(engine, record).catch((cause: unknown) => {
    engine.ports.log.warn(
      { sandboxId: record.id, network: record.network, error: describe(cause) },
      'network not cut in place',
    );
    return false;
  });
  return isCut ? record.network : undefined;
}

/** Cuts a live sandbox down to its row's level. False when the provider cannot do that in place. */
export async function cutNetwork(engine: Engine, record: SandboxRecord): Promise<boolean> {
  const { capabilities } = await engine.ports.provider(record.provider, record.profile);
  if (!capabilities.has('network-live') || !capabilities.has(`network-${record.network}`)) return false;
  await callProvider(engine, record, 'setNetwork', async (provider, ref, signal) =>
    provider.setNetwork?.(ref, record.network, signal),
  );
  return true;
}

// A handle on a sleeping sandbox may hold connections that did not survive the sleep.
async function attachAwake(
  engine: Engine,
  record: SandboxRecord,
  asleep: SandboxHandle,
  env: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<SandboxHandle | undefined> {
  await asleep.close();
  return attach(engine, record, env, signal);
}

function isAwake(record: SandboxRecord, handle: SandboxHandle): boolean {
  return handle.state === 'running' || (handle.state === 'unknown' && record.state === 'running');
}

/**
 * The last process to pick a sandbox up is the one whose exit it follows, unless it gives it back. What was made for one
 * purpose follows its maker, whoever else looks in. undefined when it does not run any more.
 */
async function own(engine: Engine, record: SandboxRecord): Promise<SandboxRecord | undefined> {
  if (record.ownerId === engine.ownerId || record.ephemeral) return record;
  const { store } = engine.ports;
  engine.ports.watch?.(engine.ownerId, record.provider);
  // Only as it was seen: what somebody is destroying meanwhile stays theirs.
  for (let present: SandboxRecord | undefined = record; present?.state === 'running';) {
    const owned = await store.patchSandbox(record.id, engine.ownership, present.version);
    if (owned !== undefined) return owned;
    present = await store.getSandbox(record.id);
  }
  return undefined;
}
