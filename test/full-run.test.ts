/** The script of a full run: what it runs ends, whatever that leaves behind. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { requirement } from './setup/requirements.ts';

const SCRIPT = path.resolve(import.meta.dirname, '../.ci/run');

/** `leave_frozen GROUP` leaves a frozen process in a group of whichever version there is. */
const LEAVE_FROZEN = `
leave_frozen() {
  if [ -d /sys/fs/cgroup/freezer ]; then dir=/sys/fs/cgroup/freezer/$1 file=freezer.state word=FROZEN
  else dir=/sys/fs/cgroup/$1 file=cgroup.freeze word=1; fi
  mkdir "$dir"
  sleep 1000 >/dev/null 2>&1 &
  echo $! >"$dir/cgroup.procs"
  echo $word >"$dir/$file"
}
`;

/** The script's functions with another main. */
async function run(main: string): Promise<{ readonly status: number | string; readonly said: string }> {
  const script = (await readFile(SCRIPT, 'utf8')).replace('cd "$(dirname "$0")/.."\n', '');
  const whole = script.replace(/^main$/m, () => `${LEAVE_FROZEN}export -f leave_frozen\ntrap cleanup EXIT\n${main}`);
  return new Promise((resolve) =>
    execFile('bash', ['-c', whole], { timeout: 40_000 }, (error, stdout, stderr) =>
      resolve({ status: error?.code ?? error?.signal ?? 0, said: stdout + stderr }),
    ),
  );
}

describe.runIf(await requirement('dockerd'))('a full run', () => {
  it('ends with the status of what it ran, also when that left a frozen process', async () => {
    const ended = await run(`contained "leave_frozen $cgroup_parent-own; echo left; exit 3"`);
    expect(ended).toEqual({ status: 3, said: 'left\n' });
  });

  it('ends what takes too long, with what it left frozen', async () => {
    const ended = await run(`limit_seconds=1\ncontained "leave_frozen $cgroup_parent-own; sleep 1000"`);
    expect(ended).toMatchObject({ status: 137, said: expect.stringContaining('within 1 seconds') as string });
  });

  it('leaves alone what somebody else has frozen', async () => {
    const ended = await run(`
      leave_frozen "other-$$"
      other=$!
      contained "leave_frozen $cgroup_parent-own"
      cat "$dir/$file"
      kill -KILL "$other"
      thaw "$dir/$file"
      until rmdir "$dir" 2>/dev/null; do sleep 0.1; done
    `);
    expect(ended).toEqual({ status: 0, said: expect.stringMatching(/^(FROZEN|1)\n/) as string });
  });
});
