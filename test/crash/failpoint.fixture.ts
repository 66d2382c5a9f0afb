/**
 * Loaded before anything else by a process that is to die between two given steps: after so many calls that change files
 * or start processes, counted over all of them, it kills itself. `SUBLET_TEST_DIES_AT` is the number.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

type Call = (this: unknown, ...args: unknown[]) => unknown;

const STEPS: readonly (readonly [owner: object, names: readonly string[]])[] = [
  [fs.promises, ['mkdir', 'writeFile', 'rename', 'unlink', 'rmdir', 'rm', 'chmod', 'chown', 'symlink', 'link']],
  [childProcess, ['spawn']],
  [process, ['kill']],
];

const diesAt = Number(process.env['SUBLET_TEST_DIES_AT'] ?? 0);
const kill = process.kill.bind(process);
let taken = 0;

for (const [owner, names] of STEPS) {
  const calls = owner as Record<string, Call>;
  for (const name of names) {
    const call = calls[name] as Call;
    calls[name] = function counted(this: unknown, ...args: unknown[]): unknown {
      const result = call.apply(this, args);
      if (++taken === diesAt) dieAfter(result);
      return result;
    };
  }
}
// What was imported by name is the patched one from here on.
syncBuiltinESMExports();

/** Once the step is done, and before whoever waits for it goes on: a promise's first listener is called first. */
function dieAfter(result: unknown): void {
  const die = (): void => void kill(process.pid, 'SIGKILL');
  if (result instanceof Promise) result.then(die, die);
  else die();
}
