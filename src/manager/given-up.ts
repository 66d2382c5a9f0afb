/** What its maker gave up on before anybody had it: the row says so by its cause. */
import type { ErrorCode } from '../core/errors.ts';
import type { SandboxState } from '../core/states.ts';
import type { SandboxRecord } from '../store/records.ts';

export const GOING: readonly SandboxState[] = ['destroying', 'destroyed'];
const NOT_CREATED = 'not created';

export function isGivenUp({ state, cause }: SandboxRecord): boolean {
  return GOING.includes(state) && cause.startsWith(NOT_CREATED);
}

export function givenUpCause(code: ErrorCode): string {
  return `${NOT_CREATED}: ${code}`;
}
