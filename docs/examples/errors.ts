import { open, SubletError } from 'sublet';

await using sublet = await open();

// A command that fails is a result.
const failed = await sublet.run('exit 3');
console.log(failed.exitCode); // → 3

// What Sublet cannot do is an error with a code.
try {
  await sublet.sandboxes.get('sbx_nothing');
} catch (error) {
  if (!SubletError.is(error, 'SANDBOX_NOT_FOUND')) throw error;
  console.log(error.code, error.retryable); // → SANDBOX_NOT_FOUND false
}
