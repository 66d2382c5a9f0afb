import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SubletError } from '../../src/core/errors.ts';
import { canRun, openWorld, sh } from './world.ts';

const world = await openWorld();

describe.runIf(canRun)('a symbolic link', () => {
  it('leads to the sandbox’s own file of that name', async () => {
    const sandbox = await world.create();
    await sh(sandbox, 'ln -s /etc/passwd link; ln -s /etc etc; ln -s ../../../../../../etc/passwd up');
    for (const path of ['link', 'etc/passwd', 'up']) {
      expect(await sandbox.files.readText(path)).toMatch(/^sandbox:x:1000:/mu);
      expect(await sandbox.files.readText(path)).not.toBe(await readFile('/etc/passwd', 'utf8'));
    }
    expect((await sandbox.files.stat('link')).kind).toBe('link');
    expect((await sandbox.files.list('etc/')).map((info) => info.name)).not.toContain('shadow');
  });

  it('leads nowhere when it names a file of the host', async () => {
    const host = await world.directory();
    await writeFile(join(host, 'secret'), 'of the host', { mode: 0o666 });
    const sandbox = await world.create();
    await sh(sandbox, `ln -s ${host}/secret file; ln -s ${host} directory`);
    for (const path of ['file', 'directory/secret', `${host}/secret`, `/proc/1/root${host}/secret`]) {
      const error = await sandbox.files.read(path).catch((cause: unknown) => cause);
      expect(SubletError.is(error, 'FILE_NOT_FOUND'), path).toBe(true);
    }
    expect(await sandbox.files.exists('directory/secret')).toBe(false);
  });

  it('is not followed out by a write, a move or a removal', async () => {
    const host = await world.directory();
    await writeFile(join(host, 'kept'), 'of the host', { mode: 0o666 });
    const sandbox = await world.create();
    await sh(sandbox, `ln -s ${host}/kept file; ln -s ${host} directory; echo new >new`);
    const attempts = [
      sandbox.files.write('file', 'changed'),
      sandbox.files.write('directory/made', 'made'),
      sandbox.files.mkdir('directory/made'),
      sandbox.files.move('new', 'directory/kept'),
      sandbox.files.remove('directory/kept'),
      sandbox.files.remove('directory'),
    ];
    await Promise.allSettled(attempts);
    expect(await readdir(host)).toEqual(['kept']);
    expect(await readFile(join(host, 'kept'), 'utf8')).toBe('of the host');
  });

  it('that is swapped in while files are written leads nowhere either', async () => {
    const host = await world.directory();
    const sandbox = await world.create();
    await mkdir(join(host, 'inner'), { mode: 0o777 });
    const swap = await sandbox.commands.start(
      `mkdir real; while :; do rm -rf slot; ln -s ${host}/inner slot; rm -f slot; mkdir slot; done`,
    );
    for (let round = 0; round < 25; round++) await sandbox.files.write(`slot/file${round}`, 'x').catch(() => undefined);
    await swap.kill();
    expect(await readdir(join(host, 'inner'))).toEqual([]);
  });

  it('that the agent leaves behind leads no clean-up astray', async () => {
    const host = await world.directory();
    await writeFile(join(host, 'kept'), 'of the host');
    const sandbox = await world.create();
    await sh(
      sandbox,
      `ln -s ${host} link; mkdir -p locked/deep; ln -s ${host} locked/deep/link; chmod 000 locked/deep locked; ln -s / root`,
    );
    await world.provider.destroy(sandbox.ref, AbortSignal.timeout(20_000));
    expect(await readdir(host)).toEqual(['kept']);
    expect(await readdir(join(world.stateDir, 'sandboxes'))).toEqual([]);
  });
});
