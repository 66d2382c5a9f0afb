import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { providerContext as context } from '../../../test/setup/serve-namespaces.ts';
import { networkOf, toBox } from './box-facts.ts';
import { capabilitiesOf, parseBoxliteConfig } from './boxlite-config.ts';
import { releasePorts, takePort } from './host-ports.ts';
import { probeBoxlite } from './probe.ts';
import type { Machine } from './vm-support.ts';
import { assertWhole } from './whole-answer.ts';

const KEY = { BOXLITE_API_KEY: 'blk_secret' };
const SPEC = { name: 'sublet-a', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;

describe('the configuration of boxlite', () => {
  it('is of this machine without a URL, and of a server with one', () => {
    const local = parseBoxliteConfig(context({}, {}, '/state'));
    expect(local.place).toEqual({ kind: 'machine', home: '/state/home' });
    const remote = parseBoxliteConfig(context({}, { ...KEY, BOXLITE_REST_URL: 'http://here:8100/' }));
    expect(remote.place).toEqual({ kind: 'server', url: 'http://here:8100', apiKey: 'blk_secret', prefix: undefined });
    expect([capabilitiesOf(local).has('extend'), capabilitiesOf(remote).has('extend')]).toEqual([false, true]);
    expect(capabilitiesOf({ ...local, autoRemove: true }).has('stop')).toBe(false);
  });

  it.each([{ url: 'here' }, { rootfs: 'relative' }, { cpus: 0 }, { memoryMiB: 64 }, { ports: ['http'] }])(
    'refuses %o',
    (options) => {
      expect(() => parseBoxliteConfig(context(options, KEY))).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID' }),
      );
    },
  );
});

describe('what is asked of boxlite', () => {
  it('is the directory with the image unless an image is named, and ends with us when nobody comes back', () => {
    const config = parseBoxliteConfig(context({ rootfs: '/images/tools', cpus: 2, ports: ['8080', '9090'] }, {}));
    expect(toBox(SPEC, config, [10_000, 10_001])).toEqual({
      rootfsPath: '/images/tools',
      cpus: 2,
      network: { outbound: { mode: 'disabled' } },
      detach: true,
      autoRemove: false,
      ports: [
        { guestPort: 8080, hostPort: 10_000, hostIp: '127.0.0.1' },
        { guestPort: 9090, hostPort: 10_001, hostIp: '127.0.0.1' },
      ],
    });
    expect(toBox({ ...SPEC, image: 'python', ephemeral: true, network: 'open' }, config)).toEqual({
      image: 'python',
      cpus: 2,
      network: { outbound: { mode: 'enabled' } },
      detach: false,
      autoRemove: true,
    });
  });

  it('has the network that is told, else the one in its name, else none that is known', () => {
    const box = { id: 'x', name: 'sublet-a.n0', status: 'running', createdAt: 0, autoStop: 0, ports: [] };
    expect(networkOf({ ...box, outbound: 'enabled' })).toBe('open');
    expect(networkOf({ ...box, outbound: undefined })).toBe('none');
    expect(networkOf({ ...box, name: 'web', outbound: undefined })).toBe('unknown');
  });
});

describe('the probe of boxlite', () => {
  const machine: Machine = {
    platform: 'linux',
    arch: 'x64',
    canUse: () => Promise.resolve('yes'),
    readCpuInfo: () => Promise.resolve('flags\t\t: fpu vmx sse\n'),
  };
  const probe = async (change: Partial<Machine>): Promise<unknown> =>
    (await probeBoxlite(context({}, {}), { ...machine, ...change })).findings[0];

  it.each<[string, Partial<Machine>]>([
    ['/dev/kvm', { canUse: () => Promise.resolve('missing') }],
    ['may not use', { canUse: () => Promise.resolve('no') }],
    ['virtualization', { readCpuInfo: () => Promise.resolve('flags : fpu sse\n') }],
    ['win32', { platform: 'win32' }],
  ])('says that a machine cannot start a VM and why: %s', async (reason, change) => {
    expect(await probe(change)).toMatchObject({
      level: 'fail',
      message: expect.stringContaining(reason) as unknown,
      fix: expect.stringContaining('boxlite.url') as unknown,
    });
  });

  it('is content with a machine that can, and with a server, whose key it does not tell', async () => {
    expect(await probe({})).toMatchObject({ level: 'ok' });
    const remote = await probeBoxlite(context({ url: 'http://here' }, KEY), { ...machine, platform: 'win32' });
    expect([remote.usable, JSON.stringify(remote).includes('blk_secret')]).toEqual([true, false]);
  });
});

describe('ports of this machine', () => {
  it('are given from 10000 up, never one that is taken, and not twice', async () => {
    const first = await takePort();
    const server = createServer();
    const second = await takePort();
    releasePorts([second]);
    await new Promise<void>((resolve) => server.listen(second, '127.0.0.1', resolve));
    const third = await takePort();
    expect(first).toBeGreaterThanOrEqual(10_000);
    expect(new Set([first, second, third]).size).toBe(3);
    await new Promise((resolve) => server.close(resolve));
    releasePorts([first, third]);
    expect(await takePort()).toBe(first);
    releasePorts([first]);
  });
});

describe('an answer', () => {
  const line = 'A'.repeat(76);
  it('is whole when only its last line is short', () => {
    for (const output of ['', '!', `oe ${line}\n${line}\nAAAA\n`, `${line}\n`, 'AAAA\n'])
      expect(() => assertWhole(output)).not.toThrow();
  });

  it('is not whole when something is missing in its middle', () => {
    for (const output of [`${line}\n${line.slice(9)}\n${line}\n`, `AAAA\n${line}\n`])
      expect(() => assertWhole(output)).toThrow(expect.objectContaining({ code: 'PROVIDER_UNAVAILABLE' }));
  });
});
