/** From a pool's name to what its sandboxes are, how many there are to be, and the word by which the same are known. */
import { createHash } from 'node:crypto';
import { SubletError } from '../../core/errors.ts';
import { poolProblems } from '../../core/pool-problems.ts';
import type { PoolOverrides, PoolSettings } from '../../core/pool-settings.ts';
import type { PoolDefinition } from '../../core/pools.ts';
import { DEFAULT_POOL, DEFAULT_POOL_NAME } from '../../core/pool-settings.ts';
import type { ResolvedSandbox } from '../../core/spec.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import type { PoolScope } from '../../store/pools.ts';
import { checkCapabilities, requireCapability } from '../check-capabilities.ts';
import type { Engine } from '../engine.ts';
import { placeOf } from '../provider-call.ts';

export interface PoolPlan {
  readonly name: string;
  /** Without variables: what waits has none, and each holder brings its own. */
  readonly wanted: ResolvedSandbox;
  readonly env: Readonly<Record<string, string>>;
  readonly settings: PoolSettings;
  readonly provider: SandboxProvider;
  readonly lane: string;
  readonly scope: PoolScope;
}

/** PROFILE_NOT_FOUND when there is no such pool; CONFIG_INVALID, UNSUPPORTED or NETWORK_NOT_ENFORCEABLE when there cannot be. */
export async function planPool(
  engine: Engine,
  name: string,
  definition: PoolDefinition | undefined,
): Promise<PoolPlan> {
  const [profile = '', part = DEFAULT_POOL_NAME] = name.split('/', 2);
  const { sandbox, ...given } = definition ?? {};
  const resolved = await engine.ports.resolve({ sandbox: profile, ...sandbox }, { kind: 'execution' });
  const { env, pools, otherwise = [], ...rest } = resolved;
  if (otherwise.length > 0) throw manyPlaces(name);
  const fromProfile = definition === undefined ? settingsOf(name, part, pools) : {};
  const settings = { ...DEFAULT_POOL, ...withoutUndefined(fromProfile), ...withoutUndefined(given) };
  const wanted: ResolvedSandbox = {
    ...rest,
    env: {},
    // The terms say when it goes; the policy only what the provider does when nobody is left to do it.
    policy: { ...resolved.policy, autoStopMinutes: settings.maxAgeMinutes, onExit: 'destroy', onLost: 'fail' },
  };
  assertSound(name, settings, wanted);
  const provider = await engine.ports.provider(wanted.provider, wanted.profile);
  checkCapabilities(provider, wanted);
  if (settings.minPaused > 0) requireCapability(provider, 'pause');
  const hostId = placeOf(engine, provider) === undefined ? undefined : engine.ports.identity.hostId;
  return { name, wanted, env, settings, provider, lane: laneOf(wanted, hostId), scope: { pool: name, hostId } };
}

function manyPlaces(name: string): SubletError {
  return new SubletError('CONFIG_INVALID', `Pool "${name}" is of several choices, and a pool is of one.`, {
    details: { pool: name },
    hint: 'Name one profile; whoever leases can try one pool after the other.',
  });
}

function settingsOf(name: string, part: string, pools: ResolvedSandbox['pools']): PoolOverrides {
  const found = pools?.[part];
  if (found !== undefined || part === DEFAULT_POOL_NAME) return found ?? {};
  const known = Object.keys(pools ?? {});
  throw new SubletError('PROFILE_NOT_FOUND', `No pool is called "${name}".`, {
    details: { pool: name },
    hint: known.length === 0 ? 'Its profile has no pools.' : `Its profile has: ${known.join(', ')}.`,
  });
}

// A volume or a directory of the machine that can be written shows one holder what another left.
function assertSound(name: string, settings: PoolSettings, wanted: ResolvedSandbox): void {
  const problems = poolProblems({ ...settings }).map(({ field, message }) => `${field}: ${message}`);
  if (wanted.contextId !== undefined)
    problems.push('contextId: a volume outlives its holder, so a pool cannot have one');
  if (wanted.mounts.some(({ readOnly }) => readOnly === false))
    problems.push('mounts: one that can be written outlives its holder, so a pool cannot have one');
  if (problems.length === 0) return;
  const lines = problems.map((problem) => `  ${problem}`).join('\n');
  throw new SubletError('CONFIG_INVALID', `Pool "${name}" cannot be:\n${lines}`, { details: { pool: name } });
}

/** The network is not in it: that is asked of the row, which knows whether it was tightened. */
function laneOf({ provider, profile, image, limits, mounts }: ResolvedSandbox, hostId: string | undefined): string {
  const { memoryBytes, cpuMillis, pids, diskBytes } = limits;
  const facts = JSON.stringify([
    [provider, profile, image, hostId],
    [memoryBytes, cpuMillis, pids, diskBytes],
    mounts.map(({ source, target }) => [source, target]),
  ]);
  return createHash('sha256').update(facts).digest('hex').slice(0, 16);
}

function withoutUndefined(overrides: PoolOverrides): Partial<PoolSettings> {
  return Object.fromEntries(Object.entries(overrides).filter(([, field]) => field !== undefined));
}
