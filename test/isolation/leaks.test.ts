/** What one holder leaves, the next one does not see: it is wiped, or the sandbox is said to be unclean and thrown away. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Fingerprint } from '../../src/providers/namespace/fingerprint.ts';
import { sandboxPaths } from '../../src/providers/namespace/layout.ts';
import { LEAKS } from './leaks.ts';
import { tryLeak } from './try-leak.ts';
import { canRun, openWorld, signal } from './world.ts';

const world = await openWorld();

describe.runIf(canRun)('a reset sandbox of namespaces', () => {
  for (const leak of LEAKS) {
    it(`keeps nothing of ${leak.name}`, async () => {
      const outcome = await tryLeak(world.provider, await world.create({ ephemeral: false }), leak, signal);
      expect(['wiped', 'refused']).toContain(outcome);
    });
  }

  it('keeps nothing in memory either, where that is its disk', async () => {
    const [leak] = LEAKS;
    const sandbox = await world.create({ ephemeral: false, limits: { diskBytes: 64 * 1024 * 1024 } });
    expect(leak && (await tryLeak(world.provider, sandbox, leak, signal))).toBe('wiped');
  });

  it('is not clean when anything is not as it was noted, and says what', async () => {
    const { ref } = await world.create({ ephemeral: false });
    const { fresh } = sandboxPaths(world.stateDir, ref.name);
    const noted = JSON.parse(await readFile(fresh, 'utf8')) as Fingerprint;
    const other = { ...noted, mount: noted.mount.slice(1), limit: [...noted.limit, 'Max guesses 3'] };
    await writeFile(fresh, JSON.stringify(other));
    expect(await world.provider.reset?.(ref, signal)).toEqual({
      clean: false,
      differences: [`a mount that was not there: ${noted.mount[0]}`, 'a limit that was there: Max guesses 3'],
    });
  });

  it('is not clean when nobody noted what it was like', async () => {
    const { ref } = await world.create({ ephemeral: false });
    await rm(sandboxPaths(world.stateDir, ref.name).fresh);
    expect(await world.provider.reset?.(ref, signal)).toMatchObject({ clean: false });
  });

  it('has another process that watched it see that it was made anew', async () => {
    const before = await world.create({ ephemeral: false });
    const other = await world.open();
    const theirs = await other.attach(before.ref, signal);
    await theirs?.commands.run('true');
    expect(await world.provider.reset?.(before.ref, signal)).toMatchObject({ clean: true });
    await expect(theirs?.commands.start('true')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    expect((await (await other.attach(before.ref, signal))?.commands.run('echo new'))?.stdout).toBe('new\n');
  });
});
