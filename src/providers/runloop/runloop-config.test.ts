import { describe, expect, it } from 'vitest';
import { providerContext as context } from '../../../test/setup/serve-namespaces.ts';
import { toDevbox } from './devbox-facts.ts';
import { provider } from './index.ts';
import { parseRunloopConfig } from './runloop-config.ts';

const KEY = { RUNLOOP_API_KEY: 'ak_secret' };

describe('the configuration of runloop', () => {
  it('needs a key, and says how to give one', () => {
    expect(() => parseRunloopConfig(context({}, {}))).toThrow(
      expect.objectContaining({ code: 'AUTH_FAILED', hint: expect.stringContaining('RUNLOOP_API_KEY') as unknown }),
    );
  });

  it('takes the profile before the variables before its defaults', () => {
    const own = { ...KEY, RUNLOOP_BASE_URL: 'https://own.example/' };
    expect(parseRunloopConfig(context({}, KEY)).baseUrl).toBe('https://api.runloop.ai');
    expect(parseRunloopConfig(context({}, own)).baseUrl).toBe('https://own.example');
    expect(parseRunloopConfig(context({ baseUrl: 'http://here' }, own)).baseUrl).toBe('http://here');
  });

  it.each([{ baseUrl: 'here' }, { cwd: 'relative' }, { size: 'HUGE' }])('refuses %o', (options) => {
    expect(() => parseRunloopConfig(context(options, KEY))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });
});

describe('the probe of runloop', () => {
  it('names what is missing with the line that brings it, and never a key', async () => {
    const without = await provider.probe(context({}, {}));
    expect([without.usable, without.findings[0]?.level]).toEqual([false, 'fail']);
    const withKey = await provider.probe(context({}, KEY));
    expect(withKey.usable).toBe(true);
    expect(JSON.stringify(withKey)).not.toContain('ak_secret');
  });
});

describe('what is asked of runloop', () => {
  const config = parseRunloopConfig(context({ noNetworkPolicy: 'npol_x', blueprint: 'tools', size: 'SMALL' }, KEY));
  const spec = { name: 'sublet-a', labels: { a: 'b' }, kind: 'execution', network: 'open', ephemeral: false } as const;

  it('suspends a session’s devbox when nobody is left, and ends one that nobody comes back to', () => {
    expect(toDevbox({ ...spec, deadManMs: 90_500 }, config).launch_parameters).toEqual({
      after_idle: { idle_time_seconds: 91, on_idle: 'suspend' },
      resource_size_request: 'SMALL',
    });
    expect(toDevbox({ ...spec, ephemeral: true }, config).launch_parameters?.after_idle).toEqual({
      idle_time_seconds: 3600,
      on_idle: 'shutdown',
    });
  });

  it('is a snapshot, a blueprint’s id or a blueprint’s name', () => {
    expect(toDevbox({ ...spec, image: 'snp_1' }, config)).toMatchObject({ snapshot_id: 'snp_1' });
    expect(toDevbox({ ...spec, image: 'bpt_1' }, config)).toMatchObject({ blueprint_id: 'bpt_1' });
    expect(toDevbox(spec, config)).toMatchObject({ blueprint_name: 'tools' });
  });

  it('has the policy that allows nothing for the level none, and our name', () => {
    const wanted = toDevbox({ ...spec, network: 'none', env: { SECRET: 'x' } }, config);
    expect(wanted.launch_parameters?.network_policy_id).toBe('npol_x');
    expect(wanted.metadata).toEqual({ a: 'b', 'sublet.name': 'sublet-a' });
    expect(JSON.stringify(wanted)).not.toContain('SECRET');
  });
});
