/** Nothing that an agent can write is walked through from outside while one of its processes may still exchange a directory for a link. */
import { access, readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { pathsIn } from '../../src/providers/namespace/layout.ts';
import { canRun, isRoot, openWorld, sh, signal, until } from './world.ts';

const world = await openWorld();

describe.runIf(canRun && isRoot)('the disk of a sandbox that is being destroyed', () => {
  it.each([
    ['', false],
    [', also when whoever waited for them was killed', true],
  ])('stays until its last process has been collected%s', async (_, isHolderKilled) => {
    const sandbox = await world.create();
    await sh(sandbox, 'mkdir -p deep/er && touch deep/er/file');
    const { init, holder } = await world.record(sandbox);
    const beside = await world.processesBeside(init?.pid);
    if (isHolderKilled) process.kill(holder?.pid ?? 0, 'SIGKILL');
    await until(async () => !isHolderKilled || isGone(`/proc/${holder?.pid}`), 'the holder has been collected');
    // The kernel ends no PID namespace before every process of it is collected, and the parent of this one, outside, stands still.
    const before = (await beside()).length;
    const entrant = world.spawn(['nsenter', '-t', String(init?.pid), '--pid', 'sleep', '1000'], { stdio: 'ignore' });
    await until(async () => (await beside()).length > before, 'it has entered');
    entrant.kill('SIGSTOP');
    const { dir, disk } = pathsIn(`${world.stateDir}/sandboxes/${sandbox.ref.name}`);
    const destroying = world.provider.destroy(sandbox.ref, signal);
    await until(async () => (await beside()).length < before, 'its processes end');
    // Longer than a removal that has begun takes to get there.
    for (let turn = 0; turn < 100; turn++) await readdir(world.stateDir);
    expect(await readdir(`${disk}/workspace/deep/er`)).toEqual(['file']);
    entrant.kill('SIGCONT');
    await destroying;
    expect(await isGone(dir)).toBe(true);
  });
});

function isGone(path: string): Promise<boolean> {
  return access(path).then(
    () => false,
    () => true,
  );
}
