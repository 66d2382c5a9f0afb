import { describe, expect, it } from 'vitest';
import { providerContext as context } from '../../../test/setup/serve-namespaces.ts';
import { toBox } from './box-facts.ts';
import { provider } from './index.ts';
import { capabilitiesOf, parseLangsmithConfig } from './langsmith-config.ts';

const KEY = { LANGSMITH_API_KEY: 'lsv2_secret' };

describe('the configuration of langsmith', () => {
  it('needs a key, and says how to give one', () => {
    expect(() => parseLangsmithConfig(context({}, {}))).toThrow(
      expect.objectContaining({ code: 'AUTH_FAILED', hint: expect.stringContaining('LANGSMITH_API_KEY') as unknown }),
    );
  });

  it('takes the profile before the variables before its defaults', () => {
    const own = { ...KEY, LANGSMITH_ENDPOINT: 'https://own.example/api/v1', LANGSMITH_WORKSPACE_ID: 'w1' };
    const endpoint = (options: Record<string, unknown>, secrets: Record<string, string>): string =>
      parseLangsmithConfig(context(options, secrets)).endpoint;
    expect(endpoint({}, KEY)).toBe('https://api.smith.langchain.com');
    expect(endpoint({}, own)).toBe('https://own.example');
    expect(endpoint({ endpoint: 'http://here/' }, own)).toBe('http://here');
    expect(parseLangsmithConfig(context({}, own)).workspace).toBe('w1');
  });

  it.each([
    { endpoint: 'here' },
    { cwd: 'relative' },
    { deleteAfterStopMinutes: 1 },
    { deleteAfterStopMinutes: 44_000 },
    { vcpus: 17 },
    { memoryGiB: 0 },
  ])('refuses %o', (options) => {
    expect(() => parseLangsmithConfig(context(options, KEY))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });

  it('leaves pause or stop, and terminals where there are WebSockets', () => {
    const claims = (options: Record<string, unknown>, hasSockets: boolean): readonly boolean[] => {
      const capabilities = capabilitiesOf(parseLangsmithConfig(context(options, KEY)), hasSockets);
      return [capabilities.has('pause'), capabilities.has('stop'), capabilities.has('pty')];
    };
    expect(claims({}, true)).toEqual([false, true, true]);
    expect(claims({ keepMemory: true }, false)).toEqual([true, false, false]);
  });
});

describe('the probe of langsmith', () => {
  it('names what is missing with the line that brings it, and never a key', async () => {
    const without = await provider.probe(context({}, {}));
    expect([without.usable, without.findings[0]?.level]).toEqual([false, 'fail']);
    const withKey = await provider.probe(context({}, KEY));
    expect(withKey.usable).toBe(true);
    expect(JSON.stringify(withKey)).not.toContain('lsv2_secret');
  });
});

describe('what is asked of langsmith', () => {
  const config = parseLangsmithConfig(context({ snapshot: 'tools:v2' }, KEY));
  const spec = { name: 'sublet-a', labels: { a: 'b' }, kind: 'execution', network: 'open', ephemeral: false } as const;

  it('counts in minutes, up', () => {
    expect(toBox({ ...spec, deadManMs: 60_001 }, config).idle_ttl_seconds).toBe(120);
    expect(toBox({ ...spec, deadManMs: 1 }, config).idle_ttl_seconds).toBe(60);
  });

  it('is a snapshot’s id or its name', () => {
    const id = '018f2c1e-9a6b-7c3d-8e4f-0123456789ab';
    expect(toBox({ ...spec, image: id }, config)).toMatchObject({ snapshot_id: id });
    expect(toBox(spec, config)).toMatchObject({ snapshot_name: 'tools:v2' });
  });

  it('has a list of nobody for the level none, our mark, and no variables', () => {
    const wanted = toBox({ ...spec, network: 'none', env: { SECRET: 'x' } }, config);
    expect(wanted.proxy_config).toEqual({ access_control: { allow_list: ['sublet.invalid'] } });
    expect(wanted.labels).toEqual({ a: 'b', 'sublet.name': 'sublet-a' });
    expect(JSON.stringify(wanted)).not.toContain('SECRET');
    expect(toBox(spec, config).proxy_config).toBeUndefined();
  });
});
