/** What a caller asks of a sandbox that is there, held against what it has, in words. Pure. */
import type { SandboxOptions } from '../core/api.ts';
import type { Limits, Mount } from '../core/spec.ts';
import type { SandboxRecord } from '../store/records.ts';

export interface Difference {
  readonly field: 'image' | 'contextId' | 'mounts' | 'limits';
  readonly asked: string;
  readonly present: string;
}

/** The first, or undefined. What it has beyond what is asked is its profile's and no difference. */
export function findDifference(options: SandboxOptions, spec: SandboxRecord['spec']): Difference | undefined {
  for (const field of ['image', 'contextId'] as const) {
    const asked = options[field];
    if (asked !== undefined && asked !== spec[field])
      return { field, asked: `"${asked}"`, present: spec[field] === undefined ? 'none' : `"${spec[field]}"` };
  }
  const mounts = differing(options.mounts?.map(mountWords), (spec.mounts ?? []).map(mountWords));
  if (mounts !== undefined) return { field: 'mounts', ...mounts };
  const limits = differing(options.limits && limitWords(options.limits), limitWords(spec.limits ?? {}));
  return limits === undefined ? undefined : { field: 'limits', ...limits };
}

function differing(
  asked: readonly string[] = [],
  present: readonly string[],
): { readonly asked: string; readonly present: string } | undefined {
  if (asked.every((each) => present.includes(each))) return undefined;
  return { asked: asked.join(', '), present: present.join(', ') || 'none' };
}

function mountWords({ source, target, readOnly }: Mount): string {
  return `${source} at ${target}${readOnly === false ? ', writable' : ''}`;
}

const LIMIT_WORDS: Readonly<Record<keyof Limits, (value: number) => string>> = {
  memoryBytes: (bytes) => `${inMebibytes(bytes)} of memory`,
  cpuMillis: (millis) => `${millis / 1000} cores`,
  pids: (count) => `${count} processes`,
  diskBytes: (bytes) => `${inMebibytes(bytes)} of disk`,
};

function limitWords(limits: Limits): readonly string[] {
  return Object.entries(LIMIT_WORDS).flatMap(([field, words]) => {
    const value = limits[field as keyof Limits];
    return value === undefined ? [] : [words(value)];
  });
}

// All of its digits: two limits that differ are told apart by their words.
function inMebibytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MiB`;
}
