/** What depends on how an engine was set up: runtimes of its own, and a disk that can be shared out. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { provider as module } from '../../src/providers/docker/index.ts';
import { type PrivateEngine, startPrivateEngine } from '../setup/private-engine.ts';
import { requirement } from '../setup/requirements.ts';
import { contextFor, openProvider, signal, specFor } from './providers.ts';

const SLOW = 120_000;
const MIB = 1024 * 1024;

describe.runIf(await requirement('dockerd'))('an engine with a runtime of its own', () => {
  let engine: PrivateEngine;
  let dir = '';
  beforeAll(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'sublet-runtime-'));
    const program = path.join(dir, 'noting-runtime');
    await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$*" >>'${dir}/calls'\nexec runc "$@"\n`);
    await chmod(program, 0o755);
    engine = await startPrivateEngine({ words: ['--add-runtime', `noting=${program}`] });
  }, SLOW);
  afterAll(async () => {
    await engine?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  }, SLOW);

  it('runs a sandbox with it when the profile names it, and with its own otherwise', async () => {
    const calls = (): Promise<string> => readFile(path.join(dir, 'calls'), 'utf8').catch(() => '');
    const usual = await (await openProvider({ host: engine.host })).create(specFor(engine.image), signal);
    expect((await usual.commands.run('echo usual')).stdout).toBe('usual\n');
    // Asking for its features is no use of it.
    expect(await calls()).not.toContain('create');
    const chosen = await (
      await openProvider({ host: engine.host, runtime: 'noting' })
    ).create(specFor(engine.image), signal);
    expect((await chosen.commands.run('echo chosen')).stdout).toBe('chosen\n');
    expect(await calls()).toContain('create');
  });

  it('refuses one that it does not have, naming it, and leaves nothing behind', async () => {
    const provider = await openProvider({ host: engine.host, runtime: 'kata' });
    await expect(provider.create(specFor(engine.image), signal)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('"kata"') as string,
      hint: expect.stringContaining('noting') as string,
    });
    expect(await engine.docker('ps', '--all', '--quiet')).toBe('');
    const probe = await module.probe?.(contextFor({ host: engine.host, runtime: 'kata' }));
    expect(probe?.findings.find(({ name }) => name === 'runtime')).toMatchObject({ level: 'fail' });
  });

  it('does not claim to limit the disk where its storage cannot, and says so when asked all the same', async () => {
    const provider = await openProvider({ host: engine.host });
    expect(provider.capabilities.has('limit-disk')).toBe(false);
    await expect(
      provider.create(specFor(engine.image, { limits: { diskBytes: 64 * MIB } }), signal),
    ).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: 'This engine cannot limit the disk of a container.',
      hint: expect.stringContaining('pquota') as string,
    });
    expect(await engine.docker('ps', '--all', '--quiet')).toBe('');
  });
});

describe.runIf(await requirement('btrfs'))('an engine whose storage can share out the disk', () => {
  let engine: PrivateEngine;
  const mountData = async (dataRoot: string, dir: string): Promise<void> => {
    const script = 'truncate -s 512M "$1" && mkfs.btrfs --quiet "$1" && mount -o loop "$1" "$2"';
    await promisify(execFile)('sh', ['-c', script, 'sh', path.join(dir, 'disk'), dataRoot]);
  };
  beforeAll(async () => {
    engine = await startPrivateEngine({ mountData, words: ['--storage-driver', 'btrfs'] });
  }, SLOW);
  afterAll(async () => engine?.[Symbol.asyncDispose](), SLOW);

  it('holds a sandbox to its share, and leaves the others theirs', async () => {
    const provider = await openProvider({ host: engine.host });
    expect(provider.capabilities.has('limit-disk')).toBe(true);
    const limited = await provider.create(specFor(engine.image, { limits: { diskBytes: 32 * MIB } }), signal);
    const other = await provider.create(specFor(engine.image), signal);
    const filled = await limited.commands.run('dd if=/dev/urandom of=much bs=1M count=64 && sync');
    expect(filled.exitCode).not.toBe(0);
    expect(filled.stderr).toMatch(/quota exceeded|no space left/i);
    await expect(limited.files.write('more', Buffer.alloc(40 * MIB, 1))).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await other.files.write('much', Buffer.alloc(64 * MIB, 1));
    expect((await other.files.stat('much')).sizeBytes).toBe(64 * MIB);
  });
});
