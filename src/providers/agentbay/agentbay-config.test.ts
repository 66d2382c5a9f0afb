import { describe, expect, it } from 'vitest';
import { providerContext as context } from '../../../test/setup/serve-namespaces.ts';
import { parseAgentBayConfig } from './agentbay-config.ts';
import { provider } from './index.ts';
import { networkOf, readSession, toSession } from './session-facts.ts';

const KEY = { AGENTBAY_API_KEY: 'akm-secret' };

describe('the configuration of agentbay', () => {
  it('needs a key, and says how to give one', () => {
    expect(() => parseAgentBayConfig(context({}, {}))).toThrow(
      expect.objectContaining({ code: 'AUTH_FAILED', hint: expect.stringContaining('AGENTBAY_API_KEY') as unknown }),
    );
  });

  it('takes the profile before the variables before its defaults', () => {
    const own = { ...KEY, AGENTBAY_REGION_ID: 'cn-hangzhou', AGENTBAY_ENDPOINT: 'own.example' };
    expect(parseAgentBayConfig(context({}, KEY))).toMatchObject({ region: 'ap-southeast-1', cwd: '/root' });
    expect(parseAgentBayConfig(context({}, own))).toMatchObject({
      region: 'cn-hangzhou',
      endpoint: 'https://own.example',
    });
    expect(parseAgentBayConfig(context({ endpoint: 'http://here/', region: 'x' }, own))).toMatchObject({
      region: 'x',
      endpoint: 'http://here',
    });
  });

  it.each([
    ['ap-southeast-1', 'https://wuyingai.ap-southeast-1.aliyuncs.com'],
    ['cn-hangzhou', 'https://wuyingai.cn-shanghai.aliyuncs.com'],
  ])('finds the gateway of %s', (region, endpoint) => {
    expect(parseAgentBayConfig(context({ region }, KEY)).endpoint).toBe(endpoint);
  });

  it.each([{ endpoint: 'not a host' }, { cwd: 'relative' }])('refuses %o', (options) => {
    expect(() => parseAgentBayConfig(context(options, KEY))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });
});

describe('the probe of agentbay', () => {
  it('names a missing key with the line that brings it, and never a key', async () => {
    const without = await provider.probe(context({}, {}));
    expect([without.usable, without.findings[0]?.level]).toEqual([false, 'fail']);
    const withKey = await provider.probe(context({}, KEY));
    expect(withKey.usable).toBe(true);
    expect(JSON.stringify(withKey)).not.toContain('akm-secret');
  });
});

describe('what is asked of agentbay', () => {
  const config = parseAgentBayConfig(context({ policy: 'p-own', noNetworkPolicy: 'p-none', imageId: 'i' }, KEY));
  const spec = { name: 'sublet-a', labels: { a: 'b' }, kind: 'execution', network: 'open', ephemeral: false } as const;

  it('carries its name, its age and its idle time as labels, which are not told as labels of ours', () => {
    const asked = toSession({ ...spec, deadManMs: 60_000 }, config, { contextId: undefined, now: 5 });
    const labels = JSON.parse(String(asked['Labels'])) as Record<string, string>;
    expect(asked).toMatchObject({ ImageId: 'i', McpPolicyId: 'p-own', Timeout: 60, PersistenceDataList: undefined });
    expect(readSession({ id: 's', status: 'RUNNING', labels, policyId: undefined })).toEqual({
      ref: { name: 'sublet-a', providerId: 's' },
      labels: { a: 'b' },
      state: 'running',
      createdAt: 5,
    });
  });

  it('has the policy that allows no network for the level none', () => {
    const asked = toSession({ ...spec, network: 'none', env: { SECRET: 'x' } }, config, { contextId: 'c', now: 5 });
    expect(asked['McpPolicyId']).toBe('p-none');
    expect(JSON.parse(String(asked['PersistenceDataList']))).toMatchObject([{ ContextId: 'c', Path: '/root' }]);
    expect(JSON.stringify(asked)).not.toContain('SECRET');
  });

  it.each([
    ['p-none', 'none'],
    ['p-own', 'open'],
    [undefined, 'open'],
    ['p-somebody', 'unknown'],
  ])('is believed about its network: the policy %s is %s', (policyId, level) => {
    expect(networkOf({ id: 's', status: 'RUNNING', labels: {}, policyId }, config)).toBe(level);
  });
});
