import { describe, expect, it } from 'vitest';
import type { SandboxSpec } from '../../provider/provider.ts';
import { containerBody, volumeName } from './container-body.ts';
import { parseDockerConfig } from './docker-config.ts';
import { askedLabels, readFacts } from './container-label.ts';

const spec: SandboxSpec = {
  name: 'sublet-x',
  labels: { a: 'b' },
  kind: 'execution',
  network: 'none',
  ephemeral: false,
};
const none = { mounts: [], isRoot: true };

describe('the container for a sandbox', () => {
  it('is closed by default', () => {
    const { HostConfig, Image } = containerBody(spec, parseDockerConfig({}), none);
    expect(Image).toBe('python:3.12-slim');
    expect(HostConfig).toMatchObject({
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: 4096,
      LogConfig: { Type: 'none' },
    });
  });

  it.each([
    ['app', 'node:20-slim'],
    ['desktop', 'linuxserver/webtop:ubuntu-xfce'],
  ] as const)('of kind %s has the image %s', (kind, image) => {
    expect(containerBody({ ...spec, kind }, parseDockerConfig({}), none).Image).toBe(image);
  });

  it('never holds variables', () => {
    const body = containerBody({ ...spec, env: { TOKEN: 's3cret' } }, parseDockerConfig({}), none);
    expect(JSON.stringify(body)).not.toContain('s3cret');
  });

  it('has the limits, the runtime and the ports that were asked for', () => {
    const limits = { memoryBytes: 64, cpuMillis: 1500, pids: 7, diskBytes: 99 };
    const config = parseDockerConfig({ runtime: 'runsc', ports: ['80'], network: 'lab' });
    const { HostConfig } = containerBody({ ...spec, limits, network: 'open' }, config, none);
    expect(HostConfig).toMatchObject({
      Memory: 64,
      MemorySwap: 64,
      NanoCpus: 1_500_000_000,
      PidsLimit: 7,
      StorageOpt: { size: '99' },
      Runtime: 'runsc',
      NetworkMode: 'lab',
      PortBindings: { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] },
    });
  });

  it('gives no capability to an ordinary user', () => {
    expect(containerBody(spec, parseDockerConfig({}), { mounts: [], isRoot: false }).HostConfig.CapAdd).toEqual([]);
  });

  it('lives on its maker’s connection when it is ephemeral, and goes by itself', () => {
    const body = containerBody({ ...spec, ephemeral: true }, parseDockerConfig({}), none);
    expect([body.OpenStdin, body.StdinOnce, body.HostConfig.AutoRemove]).toEqual([true, true, true]);
  });

  it('keeps a context in a volume of its own name', () => {
    const { HostConfig } = containerBody({ ...spec, contextId: '../x' }, parseDockerConfig({}), none);
    expect(HostConfig.Mounts).toMatchObject([{ Type: 'volume', Source: volumeName('../x'), Target: '/workspace' }]);
    expect(volumeName('../x')).toMatch(/^sublet-[0-9a-f]{32}$/);
  });

  it('tells the labels that were asked for from the image’s', () => {
    const { Labels } = containerBody(spec, parseDockerConfig({}), none);
    const facts = readFacts(Labels);
    expect(facts).toMatchObject({ workdir: '/workspace', hasShell: true, ephemeral: false });
    expect(facts && askedLabels({ ...Labels, maintainer: 'image' }, facts)).toEqual({ a: 'b' });
    expect(readFacts({ a: 'b' })).toBeUndefined();
  });
});

describe('the docker section of a profile', () => {
  it.each([
    { mountPath: 'workspace' },
    { mountPath: '/' },
    { mountPath: '/a/../b' },
    { network: 'host' },
    { network: 'container:other' },
    { ports: ['0'] },
    { ports: ['http'] },
  ])('refuses %j', (options) => {
    expect(() => parseDockerConfig(options)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error);
  });
});
