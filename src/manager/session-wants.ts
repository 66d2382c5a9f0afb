/** What a session's caller asks for, held against what the session is. Pure but for asking the profile. */
import type { SandboxOptions, SessionNotice } from '../core/api.ts';
import type { ErrorCode } from '../core/errors.ts';
import { SubletError } from '../core/errors.ts';
import type { SandboxId } from '../core/ids.ts';
import type { MigrationReport } from '../core/migration.ts';
import type { Need } from '../core/needs.ts';
import { isAtLeastAsTight, tighter } from '../core/network.ts';
import type { PassedOver } from '../core/routing.ts';
import { describePassed, routeNames } from '../core/routing.ts';
import type { SandboxKind } from '../core/session-key.ts';
import type { ResolvedSandbox } from '../core/spec.ts';
import type { BoundSession, SandboxRecord } from '../store/records.ts';
import { requireCapability } from './check-capabilities.ts';
import type { Engine } from './engine.ts';
import { type Difference, findDifference } from './same-sandbox.ts';
import { choicesOf } from './routing/make-routed.ts';

/**
 * STATE_CONFLICT when the caller names another profile, image, volume, mounts or limits than the session's sandbox has:
 * a conversation never gets another sandbox than its own without being told. `policy` and `env` may differ: the policy
 * a sandbox was made with stays, variables are the caller's.
 */
export async function assertSameSandbox(engine: Engine, options: SandboxOptions, bound: BoundSession): Promise<void> {
  const { session, sandbox } = bound;
  if (!isNamed(options, session.profile)) {
    const asked = await engine.ports.resolve(options, { kind: session.kind, previousProfile: session.profile });
    const profiles = choicesOf(asked).map(({ profile }) => profile);
    if (!profiles.includes(session.profile))
      throw conflict(bound, { field: 'sandbox', asked: `"${profiles.join(', ')}"`, present: `"${session.profile}"` });
  }
  if (options.needs !== undefined) await assertCan(engine, options.needs, sandbox);
  const difference = findDifference(options, sandbox.spec);
  if (difference !== undefined) throw conflict(bound, difference);
}

/** True when nothing in the options has to be looked into. */
export function asksForNothingNew(options: SandboxOptions, { session, sandbox }: BoundSession): boolean {
  return (
    isNamed(options, session.profile) &&
    options.needs === undefined &&
    (options.image === undefined || options.image === sandbox.spec.image) &&
    (options.network === undefined || isAtLeastAsTight(session.network, options.network)) &&
    options.contextId === undefined &&
    options.mounts === undefined &&
    options.limits === undefined
  );
}

/** The sandbox as its row describes it, to be made again: the profile's file may have changed or gone since. */
export async function wantedAgain(
  engine: Engine,
  options: SandboxOptions,
  bound: BoundSession,
): Promise<ResolvedSandbox> {
  const { session, sandbox } = bound;
  return {
    profile: sandbox.profile,
    provider: sandbox.provider,
    image: sandbox.spec.image,
    limits: sandbox.spec.limits ?? {},
    mounts: sandbox.spec.mounts ?? [],
    contextId: sandbox.spec.contextId,
    network: session.network,
    policy: { ...sandbox.policy, ...options.policy },
    env: await envFor(engine, options, sandbox),
  };
}

/**
 * Where else it may be made when it cannot be made again where it was: at the other choices of a list that its profile is of. A
 * volume is where it is.
 */
export async function elsewhere(
  engine: Engine,
  options: SandboxOptions,
  { session, sandbox }: BoundSession,
): Promise<readonly ResolvedSandbox[]> {
  if (sandbox.spec.contextId !== undefined) return [];
  const choices = await askedChoices(engine, options, session.kind);
  if (!choices.some(({ profile }) => profile === session.profile)) return [];
  return choices
    .filter(({ profile }) => profile !== session.profile)
    .map((choice) => ({ ...choice, network: tighter(choice.network, session.network) }));
}

// Without an answer there is nothing but what the session had, which needs no configuration.
async function askedChoices(
  engine: Engine,
  options: SandboxOptions,
  kind: SandboxKind,
): Promise<readonly ResolvedSandbox[]> {
  try {
    return choicesOf(await engine.ports.resolve(options, { kind }));
  } catch (cause) {
    if (SubletError.is(cause) && UNCONFIGURED.includes(cause.code)) return [];
    throw cause;
  }
}

const UNCONFIGURED: readonly ErrorCode[] = ['PROFILE_NOT_FOUND', 'CONFIG_INVALID', 'PROVIDER_UNUSABLE'];

/** The variables of profile and call. They are stored nowhere, so a profile that is gone leaves the call's own. */
export async function envFor(
  engine: Engine,
  options: SandboxOptions,
  sandbox: SandboxRecord,
): Promise<Readonly<Record<string, string>>> {
  try {
    const asked = { ...options, sandbox: sandbox.profile };
    return (await engine.ports.resolve(asked, { kind: sandbox.kind, previousProfile: sandbox.profile })).env;
  } catch (cause) {
    if (!SubletError.is(cause, 'PROFILE_NOT_FOUND')) throw cause;
    return options.env ?? {};
  }
}

export function replacedNotice(old: SandboxRecord, replacement: SandboxId, at: number, what: string): SessionNotice {
  const kept =
    old.spec.contextId === undefined
      ? 'Its files, processes and installed software are gone'
      : 'Its processes and all files outside its volume are gone';
  return {
    type: 'replaced',
    at,
    lostSandboxId: old.id,
    message: `Sandbox ${old.id} ${what}. ${kept}; ${replacement} takes its place.`,
  };
}

export function restartedNotice({ id }: SandboxRecord, at: number): SessionNotice {
  return {
    type: 'restarted',
    at,
    message: `Sandbox ${id} was found without processes and was started again. Its files are kept; what ran in it is gone.`,
  };
}

export function tighterThanAskedNotice(
  options: SandboxOptions,
  { session }: BoundSession,
  at: number,
): SessionNotice | undefined {
  if (options.network === undefined || isAtLeastAsTight(options.network, session.network)) return undefined;
  const why = session.privateReason === undefined ? '' : ` (${session.privateReason})`;
  return {
    type: 'network-tightened',
    at,
    level: session.network,
    message: `The network of this session is "${session.network}"${why} and does not loosen to "${options.network}".`,
  };
}

export function routedNotice(profile: string, passedOver: readonly PassedOver[], at: number): SessionNotice {
  const why = passedOver.map(describePassed).join('; ');
  return { type: 'routed', at, profile, passedOver, message: `The sandbox is at "${profile}": ${why}` };
}

export function migratedNotice({ from, to, left }: MigrationReport, at: number): SessionNotice {
  const lost = left.map(({ message }) => message).join(' ');
  const message = `The session went from "${from.profile}" to "${to.profile}" with its working directory. ${lost}`;
  return { type: 'migrated', at, fromSandboxId: from.sandboxId ?? '', profile: to.profile, message };
}

/** By its own name, alone or in a list; a list in a file is looked into by whoever asks further. */
function isNamed({ sandbox }: SandboxOptions, profile: string): boolean {
  return sandbox === undefined || routeNames(sandbox).includes(profile);
}

async function assertCan(engine: Engine, needs: readonly Need[], sandbox: SandboxRecord): Promise<void> {
  const provider = await engine.ports.provider(sandbox.provider, sandbox.profile);
  for (const need of needs) requireCapability(provider, need);
}

function conflict(
  bound: BoundSession,
  { field, asked, present }: Omit<Difference, 'field'> & { readonly field: string },
): SubletError {
  const { key } = bound.session;
  return new SubletError('STATE_CONFLICT', `Session ${key} has ${field}: ${present}; asked for: ${asked}.`, {
    details: { sessionKey: key, sandboxId: bound.sandbox.id, field },
    retryable: false,
    hint: `Use another task, or destroy the present sandbox first: sublet rm ${bound.sandbox.id}`,
  });
}
