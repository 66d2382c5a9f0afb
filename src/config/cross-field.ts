/** Rules between fields. They look at raw values, so that they are reported together with everything else. */
import { posix } from 'node:path';
import { poolContradictions } from '../core/pool-problems.ts';
import { isRecord, type Problem } from './problems.ts';

const TWICE: readonly (readonly [string, string])[] = [
  ['memory', 'memoryBytes'],
  ['cpus', 'cpuMillis'],
  ['disk', 'diskBytes'],
];

/** For the fields of a profile. */
export function crossFieldProblems(fields: Readonly<Record<string, unknown>>): readonly Problem[] {
  return [
    ...unreachableIdle(fields, ''),
    ...impossibleBounds(fields, ''),
    ...limitsTwice(fields['limits']),
    ...targetsTwice(fields['mounts']),
    ...poolsThatCannotBe(fields),
  ];
}

/** Bounds that no time-out can be between, or one that bounds nothing. */
export function impossibleBounds(policy: Readonly<Record<string, unknown>>, prefix: string): readonly Problem[] {
  const { autoStopMinMinutes: min, autoStopMaxMinutes: max } = policy;
  if (typeof min !== 'number' || typeof max !== 'number' || min <= max) return [];
  const message = max > 0 ? 'must not exceed autoStopMaxMinutes' : 'bounds nothing while autoStopMaxMinutes is 0';
  return [{ path: `${prefix}autoStopMinMinutes`, message }];
}

/** A sandbox that is destroyed for its age before it can ever be idle long enough: one of the two is a mistake. */
export function unreachableIdle(policy: Readonly<Record<string, unknown>>, prefix: string): readonly Problem[] {
  const { autoStopMinutes: idle, autoDeleteMinutes: age } = policy;
  if (typeof idle !== 'number' || typeof age !== 'number' || age <= 0 || idle <= age) return [];
  return [
    { path: `${prefix}autoStopMinutes`, message: 'must not exceed autoDeleteMinutes: it would never be reached' },
  ];
}

/** Two mounts at one place: the second would hide the first. */
export function targetsTwice(mounts: unknown): readonly Problem[] {
  if (!Array.isArray(mounts)) return [];
  const seen = new Set<string>();
  return mounts.flatMap((mount: unknown, index): Problem[] => {
    if (!isRecord(mount) || typeof mount['target'] !== 'string') return [];
    const target = posix.resolve('/', mount['target']);
    if (!seen.has(target)) {
      seen.add(target);
      return [];
    }
    return [{ path: `mounts.${index}.target`, message: 'another mount has the same target' }];
  });
}

/** What outlives a sandbox would show one holder of a pool what another left. */
function poolsThatCannotBe(fields: Readonly<Record<string, unknown>>): readonly Problem[] {
  const { pools, contextId, mounts } = fields;
  if (!isRecord(pools) || Object.keys(pools).length === 0) return [];
  const contradictions = Object.entries(pools).flatMap(([name, pool]) =>
    isRecord(pool)
      ? poolContradictions(pool).map(({ field, message }) => ({ path: `pools.${name}.${field}`, message }))
      : [],
  );
  const shown = 'outlives its holder, so a profile with pools cannot have it';
  const written = (Array.isArray(mounts) ? mounts : []).flatMap((mount: unknown, index): Problem[] =>
    isRecord(mount) && mount['readOnly'] === false
      ? [{ path: `mounts.${index}.readOnly`, message: `a directory that can be written ${shown}` }]
      : [],
  );
  const volume = contextId === undefined ? [] : [{ path: 'contextId', message: `a volume ${shown}` }];
  return [...contradictions, ...volume, ...written];
}

function limitsTwice(limits: unknown): readonly Problem[] {
  if (!isRecord(limits)) return [];
  return TWICE.filter(([a, b]) => limits[a] !== undefined && limits[b] !== undefined).map(([a, b]) => ({
    path: `limits.${a}`,
    message: `says the same as "${b}"; keep one`,
  }));
}
