import { expect, it } from 'vitest';
import { toWarning } from './to-warning.ts';

it('a warning says what it is about, on one line that drives no terminal', () => {
  const fields = { sandboxId: 'sbx_1', count: 2, nothing: undefined, error: 'gone\n\u001b[31m' };
  expect(toWarning(fields, 'sandbox not destroyed')).toBe(
    'sandbox not destroyed (sandboxId sbx_1, count 2, error gone \\x1b[31m)',
  );
  expect(toWarning({}, 'nothing to add')).toBe('nothing to add');
});
