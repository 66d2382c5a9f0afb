/** The shells that wait inside: nobody sees them, and they come and go with the sandbox's sleep. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/system-clock.ts';
import { DockerApi } from '../../src/providers/docker/docker-api.ts';
import { findEngine } from '../../src/providers/docker/find-engine.ts';
import { dockerHost, dockerImage, requirement } from '../setup/requirements.ts';
import { openProvider, signal, specFor } from './providers.ts';

describe.runIf(await requirement('docker'))('a waiting shell', () => {
  it('is not listed, is let go of when the sandbox is paused, and is back when it is resumed', async () => {
    const host = dockerHost();
    const api = new DockerApi(await findEngine(host, systemClock));
    const provider = await openProvider({ host });
    const { ref, commands } = await provider.create(specFor(dockerImage()), signal);
    const execs = async (): Promise<number> => (await api.inspect(ref.name)).ExecIDs?.length ?? 0;
    try {
      await Promise.all([1, 2, 3].map(() => commands.run('sleep 0.1')));
      expect(await execs()).toBeGreaterThan(0);
      expect(await commands.list()).toEqual([]);
      await provider.pause?.(ref, signal);
      // The engine clears an exec away a moment after it has ended, also while its container is paused.
      await expect.poll(execs, { timeout: 30_000 }).toBe(0);
      await provider.resume?.(ref, signal);
      expect((await commands.run('echo awake')).stdout).toBe('awake\n');
      // One exec brings one shell, which then takes all that come one after the other.
      for (let times = 0; times < 5; times++) await commands.run('true');
      expect(await execs()).toBe(1);
      expect(await commands.list()).toEqual([]);
    } finally {
      api.client.close();
    }
  });
});
