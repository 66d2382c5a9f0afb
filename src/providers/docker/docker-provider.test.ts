import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dockerHost, dockerImage, podmanHost, requirement } from '../../../test/setup/requirements.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { missingCapabilities, providerContract, runProviderCase } from '../../testing/provider-contract.ts';
import { findEngine } from './find-engine.ts';
import { provider as module } from './index.ts';

const engines = [
  { name: 'docker', host: dockerHost(), isThere: await requirement('docker') },
  { name: 'podman', host: podmanHost(), isThere: await requirement('podman') },
] as const;

let stateDir = '';
beforeAll(async () => (stateDir = await mkdtemp(join(tmpdir(), 'sublet-docker-'))));
afterAll(() => rm(stateDir, { recursive: true, force: true }));

function context(host: string | undefined): ProviderContext {
  const log = { debug() {}, info() {}, warn() {} };
  return { stateDir, clock: systemClock, log, options: { host }, secret: () => undefined };
}

for (const { name, host, isThere } of engines) {
  describe.runIf(isThere)(`the docker provider on ${name}`, () => {
    let provider: SandboxProvider;
    beforeAll(async () => (provider = withImage(await module.open(context(host)))));
    afterAll(async () => {
      await provider.close();
      await removeSnapshots(host);
    });

    const claims = { capabilities: new Set(module.capabilities) };
    for (const testCase of providerContract.filter((each) => missingCapabilities(each, claims).length === 0)) {
      // Each has sandboxes of its own, and most of its time is the engine's.
      it.concurrent(testCase.name, async ({ signal, skip }) => {
        const missing = missingCapabilities(testCase, provider);
        if (missing.length > 0) skip(`not claimed on this machine: ${missing.join(', ')}`);
        const secondProvider = async (): Promise<SandboxProvider> => withImage(await module.open(context(host)));
        await runProviderCase(testCase, { provider, signal, secondProvider });
      });
    }

    it('claims at most what its module claims', () => {
      expect(module.capabilities).toEqual(expect.arrayContaining([...provider.capabilities]));
    });
  });
}

/** They outlive their sandboxes, as they should. */
async function removeSnapshots(host: string | undefined): Promise<void> {
  const client = await findEngine(host, systemClock);
  const path = `/images/json?filters=${encodeURIComponent('{"reference":["*sublet-snapshot"]}')}`;
  const images = await client.json<readonly { readonly Id: string }[]>({ method: 'GET', path, what: 'list images' });
  for (const { Id } of images) {
    await client.json({ method: 'DELETE', path: `/images/${Id}?force=true`, what: 'remove an image' });
  }
  client.close();
}

/** The contract's cases name no image. */
function withImage(provider: SandboxProvider): SandboxProvider {
  const create: SandboxProvider['create'] = (spec, signal) =>
    provider.create({ ...spec, image: spec.image ?? dockerImage() }, signal);
  return new Proxy(provider, {
    get: (target, key) => {
      if (key === 'create') return create;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
