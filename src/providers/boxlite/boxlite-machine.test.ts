/** VMs of this machine: what can be done without starting one always, the rest where it can. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { providerContext } from '../../../test/setup/serve-namespaces.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { missingCapabilities, providerContract, runProviderCase } from '../../testing/provider-contract.ts';
import { readBox, toBox } from './box-facts.ts';
import { BoxliteApi } from './boxlite-api.ts';
import { parseBoxliteConfig } from './boxlite-config.ts';
import { toBoxName } from './boxlite-name.ts';
import { provider as module } from './index.ts';
import { makeOciLayout } from './oci-layout.fixture.ts';

const SPEC = { name: 'sublet-0a', labels: { a: 'b' }, kind: 'execution', network: 'none', ephemeral: false } as const;
const isLinux = process.platform === 'linux' && process.arch === 'x64';
const canMake = isLinux && (await requirement('busybox'));
const canStart = canMake && (await requirement('boxlite'));
vi.setConfig({ testTimeout: 240_000 });

describe.runIf(canMake)('the boxlite provider on this machine', () => {
  let directory = '';
  let options: Readonly<Record<string, unknown>> = {};

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-boxlite-'));
    const { stdout } = await promisify(execFile)('sh', ['-c', 'command -v busybox']);
    const rootfs = await makeOciLayout(directory, stdout.trim());
    options = { home: join(directory, 'home'), rootfs, cpus: 1, memoryMiB: 256, diskGiB: 1 };
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('makes, finds, lists and removes boxes from a directory with an image, without a network', async ({ signal }) => {
    const config = parseBoxliteConfig(providerContext(options, {}));
    const api = new BoxliteApi(config, systemClock);
    const id = await api.create(toBox(SPEC, config), toBoxName(SPEC));
    const again = api.create(toBox(SPEC, config), toBoxName(SPEC));
    await expect(again).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    const box = await api.get(id, signal);
    expect(box).toMatchObject({ id, status: 'configured', outbound: 'disabled' });
    expect(box && readBox(box)).toMatchObject({ ref: { name: SPEC.name }, labels: SPEC.labels, state: 'stopped' });
    const listed = [];
    for await (const each of api.list(signal)) listed.push(each.id);
    expect(listed).toEqual([id]);
    await api.remove(id);
    expect(await api.get(id, signal)).toBeUndefined();
    await expect(api.remove(id)).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  });

  it('shares one runtime of a home within the process', async ({ signal }) => {
    const [first, second] = [await open(), await open()];
    for (const provider of [first, second]) {
      const names = [];
      for await (const { ref } of provider.list({}, signal)) names.push(ref.name);
      expect(names).toEqual([]);
    }
    await first.close();
    expect(await second.attach({ name: 'sublet-nobody' }, signal)).toBeUndefined();
    await second.close();
  });

  if (!canStart) {
    it('refuses to make a sandbox at once where no VM can start, and says why', async ({ signal }) => {
      const provider = await open();
      await expect(provider.create(SPEC, signal)).rejects.toMatchObject({
        code: 'PROVIDER_UNUSABLE',
        message: expect.stringContaining('cannot start a VM') as unknown,
        hint: expect.stringContaining('boxlite.url') as unknown,
      });
    });
    return;
  }

  const claims = { capabilities: new Set(module.capabilities.filter((each) => each !== 'extend')) };
  for (const testCase of providerContract.filter((each) => missingCapabilities(each, claims).length === 0)) {
    it(`keeps the contract: ${testCase.name}`, async ({ signal }) => {
      await runProviderCase(testCase, { provider: await open(), signal, secondProvider: open });
    });
  }

  function open(): Promise<SandboxProvider> {
    return module.open(providerContext(options, {}));
  }
});
