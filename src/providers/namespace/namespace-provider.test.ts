import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { missingCapabilities, providerContract, runProviderCase } from '../../testing/provider-contract.ts';
import { provider as module } from './index.ts';

let stateDir = '';
let provider: SandboxProvider;

function context(): ProviderContext {
  const log = { debug() {}, info() {}, warn() {} };
  return { stateDir, clock: systemClock, log, options: {}, secret: () => undefined };
}

const usable = await requirement('namespace', async () => {
  const probe = await module.probe(context());
  return probe.usable ? undefined : (probe.findings.find((finding) => finding.level === 'fail')?.message ?? 'unusable');
});

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'sublet-namespace-'));
  provider = await module.open(context());
});

afterAll(async () => {
  await provider.close();
  await rm(stateDir, { recursive: true, force: true });
});

const KINDS = [
  { kind: 'a sandbox', defaults: {} },
  { kind: 'a sandbox that is expected to run one command', defaults: { ephemeral: true, expectsOneCommand: true } },
];

describe.runIf(usable).each(KINDS)('the namespace provider: $kind', ({ defaults }) => {
  const claims = { capabilities: new Set(module.capabilities) };
  for (const testCase of providerContract.filter((each) => missingCapabilities(each, claims).length === 0)) {
    it(testCase.name, ({ signal }) =>
      runProviderCase(testCase, { provider, signal, defaults, secondProvider: () => module.open(context()) }),
    );
  }
});

describe.runIf(usable)('the namespace provider', () => {
  it('says which mount source is missing', async ({ signal }) => {
    const mounts = [{ source: '/no/such/directory', target: '/x' }];
    const spec = {
      name: 'sublet-nomount',
      labels: {},
      kind: 'execution',
      network: 'none',
      ephemeral: true,
      mounts,
    } as const;
    await expect(provider.create(spec, signal)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('/no/such/directory') as string,
    });
  });

  it('waits for a command that sheds its tag', async ({ signal }) => {
    const spec = { name: 'sublet-untagged', labels: {}, kind: 'execution', network: 'none', ephemeral: true } as const;
    const { commands, ref } = await provider.create(spec, signal);
    const result = await commands.run('ulimit -S -w 77 2>/dev/null || ulimit -S -x 77; sleep 2.6; echo done; exit 3');
    expect(result).toMatchObject({ exitCode: 3, stdout: 'done\n' });
    await provider.destroy(ref, signal);
  });

  it('starts what is frozen and was said to be stopped', async ({ signal }) => {
    const spec = { name: 'sublet-frozen', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
    const { ref } = await provider.create(spec, signal);
    await provider.pause?.(ref, signal);
    await provider.start?.(ref, signal);
    const handle = await provider.attach(ref, signal);
    expect(handle?.state).toBe('running');
    expect(await handle?.commands.run('echo on')).toMatchObject({ stdout: 'on\n' });
    await provider.destroy(ref, signal);
  });

  it('leaves no sandbox behind', async () => {
    expect(await readdir(join(stateDir, 'sandboxes'))).toEqual([]);
  });
});
