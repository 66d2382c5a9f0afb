/** What is known of a session before it moves, and what is ended first if that is asked. */
import { SubletError } from '../../core/errors.ts';
import type { ResolvedSandbox } from '../../core/spec.ts';
import { checkCapabilities } from '../check-capabilities.ts';
import { withDeadline } from '../deadline.ts';
import type { Engine } from '../engine.ts';
import type { KeptLease } from '../kept-lease.ts';
import type { LiveSandbox } from '../live-sandbox.ts';
import type { DepartureFacts } from './left-behind.ts';

export interface MigrationSource {
  readonly live: LiveSandbox;
  readonly wasPaused: boolean;
  /** The caller's lease on it, if it has one. */
  readonly lease: KeptLease | undefined;
}

/** UNSUPPORTED or NETWORK_NOT_ENFORCEABLE when the only choice cannot take it. */
export async function departure(
  engine: Engine,
  { live, wasPaused }: MigrationSource,
  choices: readonly ResolvedSandbox[],
  signal: AbortSignal | undefined,
): Promise<DepartureFacts> {
  const { record, handle } = live;
  const [first] = choices;
  if (first === undefined) throw new SubletError('USAGE', 'A migration needs a place to go to.');
  const [at, to, commands] = await Promise.all([
    engine.ports.provider(record.provider, record.profile),
    engine.ports.provider(first.provider, first.profile).catch((cause: unknown) => {
      // With others to choose from it is passed over in its turn.
      if (choices.length === 1) throw cause;
      return undefined;
    }),
    inTime(engine, live, signal, () => handle.commands.list()),
  ]);
  if (to !== undefined && choices.length === 1) checkCapabilities(to, first);
  return {
    source: record,
    workdir: handle.workdir,
    capabilities: at.capabilities,
    running: commands.filter(({ running }) => running).length,
    wasPaused,
    target: first,
    targetCapabilities: to?.capabilities ?? new Set(),
  };
}

export async function endCommands(engine: Engine, live: LiveSandbox, signal: AbortSignal | undefined): Promise<void> {
  const { commands } = live.handle;
  await inTime(engine, live, signal, async () => {
    const running = (await commands.list()).filter((command) => command.running);
    await Promise.all(running.map(async ({ id }) => (await commands.attach(id)).kill()));
  });
}

function inTime<T>(
  engine: Engine,
  { id, record }: LiveSandbox,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const ms = engine.config.providerTimeoutMs;
  const late = (): SubletError =>
    new SubletError('PROVIDER_UNAVAILABLE', `Sandbox ${id} did not say within ${ms / 1000} s what runs in it.`, {
      details: { sandboxId: id, provider: record.provider },
      hint: 'Try again.',
    });
  return withDeadline(engine.ports.clock, { ms, late, signals: [signal, engine.closing] }, work);
}
