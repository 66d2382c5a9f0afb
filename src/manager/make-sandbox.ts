/** From what is wanted to a running sandbox: checks, intent, create. Sessions and ephemeral runs differ only in how they commit the intent. */
import type { GapSummary } from '../core/adaptive-idle.ts';
import { newId } from '../core/ids.ts';
import type { SandboxKind, SessionKey } from '../core/session-key.ts';
import type { ResolvedSandbox } from '../core/spec.ts';
import type { SandboxProvider } from '../provider/provider.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { NewSandbox } from '../store/store.ts';
import { checkCapabilities } from './check-capabilities.ts';
import type { FillSandbox } from './create-sandbox.ts';
import { createSandbox } from './create-sandbox.ts';
import type { Engine } from './engine.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import type { PoolMembership, SandboxPlan } from './plan-sandbox.ts';
import { isEphemeral, planSandbox } from './plan-sandbox.ts';

export interface MakeRequest {
  readonly wanted: ResolvedSandbox;
  readonly kind: SandboxKind;
  /** undefined for an ephemeral sandbox and for a pool's. */
  readonly sessionKey: SessionKey | undefined;
  readonly cause: string;
  /** What its session's earlier sandbox knew of them. */
  readonly gaps?: GapSummary | undefined;
  readonly expectsOneCommand?: boolean | undefined;
  readonly pool?: PoolMembership | undefined;
  readonly isProvisional?: boolean | undefined;
}

export interface PreparedSandbox {
  readonly plan: SandboxPlan;
  readonly provider: SandboxProvider;
}

/** Everything that can be refused is refused here, before there is a row. */
export async function prepareSandbox(engine: Engine, request: MakeRequest): Promise<PreparedSandbox> {
  const { wanted } = request;
  const [provider, installation] = await Promise.all([
    engine.ports.provider(wanted.provider, wanted.profile),
    engine.installation(),
    engine.register(),
  ]);
  checkCapabilities(provider, wanted);
  const diesWithUs = isEphemeral(request) && provider.capabilities.has('dies-with-owner');
  if (!diesWithUs) engine.ports.watch?.(engine.ownerId, provider.id);
  const plan = planSandbox({
    ...request,
    id: newId('sbx', engine.config.random),
    installation,
    ownerId: engine.ownerId,
    host: engine.ports.identity,
    now: engine.now(),
  });
  return { plan, provider };
}

/** `commit` writes the intent and returns its row, or undefined when another was faster; then nothing is made. */
export async function makeSandbox(
  engine: Engine,
  prepared: PreparedSandbox,
  commit: (row: NewSandbox) => Promise<SandboxRecord | undefined>,
  signal: AbortSignal | undefined,
  fill?: FillSandbox,
): Promise<LiveSandbox | undefined> {
  engine.assertOpen();
  const intent = await commit(prepared.plan.row);
  if (intent === undefined) return undefined;
  return createSandbox(engine, prepared.provider, prepared.plan, intent, signal, fill);
}
