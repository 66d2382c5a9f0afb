/** What `open` leaves when it fails. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../src/core/system-clock.ts';
import { open } from '../src/open.ts';
import type { ProviderModule } from '../src/provider/define-provider.ts';
import { createFaultyProvider, FaultyWorld } from '../src/testing/index.ts';

const home = await mkdtemp(join(tmpdir(), 'sublet-open-'));
afterAll(() => rm(home, { recursive: true, force: true }));

describe('an engine that cannot be opened', () => {
  it('closes the provider that was made ready for it', async () => {
    let [isWarm, isClosed] = [false, false];
    const provider = createFaultyProvider(new FaultyWorld(systemClock), { id: 'ready' });
    const ready: ProviderModule = {
      id: 'ready',
      title: 'Ready',
      summary: 'for a test',
      capabilities: [...provider.capabilities],
      options: {},
      probe: async () => ({ usable: true, findings: [] }),
      open: async () =>
        Object.assign(provider, {
          warm: async () => void (isWarm = true),
          close: async () => void (isClosed = true),
        }),
    };
    const opening = open({ home, store: `sqlite:${home}`, providers: [ready], expects: { sandbox: 'ready' } });
    await expect(opening).rejects.toThrow();
    expect([isWarm, isClosed]).toEqual([true, true]);
  });
});
