/** An ordered choice of sandboxes: what is passed over, why, and what is said when none is left. Pure. */
import type { ErrorCode } from './errors.ts';
import { SubletError } from './errors.ts';
import type { SandboxId } from './ids.ts';
import { inOneLine } from './one-line.ts';

/** A choice that was not used, and why. */
export interface PassedOver {
  readonly profile: string;
  readonly provider: string;
  readonly code: ErrorCode;
  readonly reason: string;
  readonly hint?: string | undefined;
  /** The try that failed; undefined when nothing was begun. */
  readonly sandboxId?: SandboxId | undefined;
}

/** What the provider is to blame for. What the caller got wrong is wrong at the next choice too, or was not meant for it. */
const OF_THE_PROVIDER: ReadonlySet<ErrorCode> = new Set([
  'PROVIDER_UNUSABLE',
  'PROVIDER_UNAVAILABLE',
  'AUTH_FAILED',
  'PERMISSION_DENIED',
  'RATE_LIMITED',
  'QUOTA_EXCEEDED',
  'CREATE_FAILED',
  'CREATE_TIMEOUT',
  'SANDBOX_LOST',
  'SANDBOX_NOT_FOUND',
  'STATE_CONFLICT',
]);

/** It works, but not for this: no reason to think less of it. */
const BEYOND_IT: ReadonlySet<ErrorCode> = new Set(['UNSUPPORTED', 'NETWORK_NOT_ENFORCEABLE']);

/** Of an error that a provider caused while a sandbox was asked of it: whether the next choice is tried. */
export function fallsThrough({ code }: SubletError): boolean {
  return OF_THE_PROVIDER.has(code) || BEYOND_IT.has(code);
}

/** Whether it counts against the provider when it is asked again. */
export function isFault({ code }: SubletError): boolean {
  return OF_THE_PROVIDER.has(code);
}

/** A choice as the caller wrote it: a list, or names with commas between them. */
export function routeNames(sandbox: string | readonly string[]): readonly string[] {
  const names = typeof sandbox === 'string' ? sandbox.split(',') : sandbox;
  return names.map((name) => name.trim()).filter((name) => name !== '');
}

export function routeExhausted(passed: readonly PassedOver[], causes: readonly SubletError[]): SubletError {
  const lines = passed.map(({ profile, provider, code, reason, hint }) => {
    const name = profile === provider ? profile : `${profile} (${provider})`;
    return `  ${name}: ${code}: ${inOneLine(reason)}${hint === undefined ? '' : `\n    ${inOneLine(hint)}`}`;
  });
  return new SubletError(
    'ROUTE_EXHAUSTED',
    `None of ${passed.length} choices could make the sandbox:\n${lines.join('\n')}`,
    {
      cause: new AggregateError(causes),
      details: { choices: passed },
      hint: 'See what is usable here with: sublet providers',
    },
  );
}

/** In a line, for events and notices. */
export function describePassed({ profile, code, reason }: PassedOver): string {
  return `"${profile}" was passed over (${code}): ${inOneLine(reason)}`;
}
