/** Everything wrong with a configuration, collected and reported at once. No problem ever quotes a value. */
import { SubletError } from '../core/errors.ts';

export interface Problem {
  /** Dotted: `mounts.0.target`. Empty for the whole. */
  readonly path: string;
  readonly message: string;
}

export function invalidConfig(source: string, problems: readonly Problem[], hint?: string): SubletError {
  const lines = problems.map(({ path, message }) => `  ${path === '' ? '' : `${path}: `}${message}`);
  return new SubletError('CONFIG_INVALID', `${source} is not valid:\n${lines.join('\n')}`, {
    details: { source, problems },
    hint,
  });
}

export function joinPath(...parts: readonly (string | number)[]): string {
  return parts.filter((part) => part !== '').join('.');
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
