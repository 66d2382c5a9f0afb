/** The same of containers: what one holder leaves, the next one does not see. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SandboxHandle, SandboxProvider } from '../../src/provider/provider.ts';
import { provider as module } from '../../src/providers/docker/index.ts';
import { dockerHost, dockerImage, requirement } from '../setup/requirements.ts';
import { LEAKS } from './leaks.ts';
import { tryLeak } from './try-leak.ts';
import { contextOf, signal } from './world.ts';

const run = promisify(execFile);
const isThere = await requirement('docker');
/** The test image has a shell only; what leaks are left with is the host's. */
const TOOLS = ['/usr', '/usr/lib', '/usr/lib64'].map((source) => ({ source, target: source.replace('/usr/', '/') }));

describe.runIf(isThere)('a reset container', () => {
  let provider: SandboxProvider;
  const names: string[] = [];
  beforeAll(async () => {
    provider = await module.open({ ...contextOf(tmpdir()), options: { host: dockerHost() } });
  });
  afterEach(async () => {
    for (const name of names.splice(0)) await provider.destroy({ name }, signal);
  });
  afterAll(() => provider.close());

  const create = (image = dockerImage()): Promise<SandboxHandle> => {
    const name = `sublet-leak-${randomUUID()}`;
    names.push(name);
    const asked = { labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
    return provider.create({ ...asked, name, image, mounts: TOOLS }, signal);
  };

  for (const leak of LEAKS) {
    it(`keeps nothing of ${leak.name}`, async () => {
      const outcome = await tryLeak(provider, await create(), leak, signal);
      expect(['wiped', 'refused']).toContain(outcome);
    });
  }

  it('is not clean when the name of its image leads to another one', async () => {
    const image = `sublet-leak:${randomUUID()}`;
    const docker = (...args: readonly string[]) => run('docker', ['--host', dockerHost() ?? '', ...args]);
    await docker('tag', dockerImage(), image);
    try {
      const { ref, commands } = await create(image);
      await commands.run('echo left >/left');
      await docker('commit', ref.name, image);
      expect(await provider.reset?.(ref, signal)).toEqual({
        clean: false,
        differences: [`the image ${image} is another one now`],
      });
      await provider.destroy(ref, signal);
    } finally {
      await docker('rmi', '--force', image);
    }
  });
});
