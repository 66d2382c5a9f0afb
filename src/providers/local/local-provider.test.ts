import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../core/system-clock.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { missingCapabilities, providerContract, runProviderCase } from '../../testing/provider-contract.ts';
import { provider as module } from './index.ts';

const warnings: string[] = [];
let stateDir = '';
let provider: SandboxProvider;

function context(): ProviderContext {
  const log = { debug() {}, info() {}, warn: (_: unknown, message: string) => void warnings.push(message) };
  return { stateDir, clock: systemClock, log, options: {}, secret: () => undefined };
}

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'sublet-local-'));
  provider = await module.open(context());
});

afterAll(async () => {
  await provider.close();
  await rm(stateDir, { recursive: true, force: true });
});

describe.runIf(process.platform === 'linux')('the local provider', () => {
  const claims = { capabilities: new Set(module.capabilities) };
  for (const testCase of providerContract.filter((each) => missingCapabilities(each, claims).length === 0)) {
    it(testCase.name, ({ signal }) =>
      runProviderCase(testCase, { provider, signal, secondProvider: () => module.open(context()) }),
    );
  }

  it('claims what its instances claim', () => {
    expect([...provider.capabilities]).toEqual(module.capabilities);
  });

  it('warns once that nothing is isolated', async () => {
    expect(warnings).toEqual(['The provider "local" runs on this machine without isolation']);
  });

  it('leaves no sandbox and no pipe behind', async () => {
    expect(await readdir(join(stateDir, 'sandboxes'))).toEqual([]);
    await provider.close();
    expect(await readdir(join(stateDir, 'pipes'))).toEqual([]);
  });
});
