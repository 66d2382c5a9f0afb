/** Whether the kernel ended processes of a sandbox for want of memory. Asked only of one that has failed. */
import { readFile } from 'node:fs/promises';
import { type ErrorCode, SubletError } from '../../core/errors.ts';
import type { SandboxRecord } from './sandbox-record.ts';

/** What to tell instead of `cause` when that is why. */
export async function orMemoryKill(record: SandboxRecord, code: ErrorCode, cause: unknown): Promise<unknown> {
  // Version 1 refuses a limit below what the first process has already.
  const isTaken = (cause as NodeJS.ErrnoException).code === 'EBUSY';
  if (!isTaken && !(await hasMemoryKill(record.cgroups))) return cause;
  const { memoryBytes } = record.limits;
  const limit = memoryBytes === undefined ? 'memory limit' : `memory limit of ${memoryBytes} bytes`;
  const what = isTaken ? 'needs more to start than its' : 'had a process killed by the kernel at its';
  return new SubletError(code, `The sandbox ${what} ${limit}.`, {
    cause,
    hint: 'Give it more memory: --memory, or limits.memory in its profile.',
    details: { memoryBytes },
  });
}

/** By what the group has counted: version 2 says so among its events, version 1 beside its switch. */
async function hasMemoryKill(cgroups: readonly string[]): Promise<boolean> {
  const files = cgroups.flatMap((dir) => [`${dir}/memory.events`, `${dir}/memory.oom_control`]);
  const counts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return counts.some((text) => /^oom_kill [1-9]/mu.test(text));
}
