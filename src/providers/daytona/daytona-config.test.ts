import { describe, expect, it } from 'vitest';
import { providerContext as context } from '../../../test/setup/serve-namespaces.ts';
import { capabilitiesOf, parseDaytonaConfig } from './daytona-config.ts';
import { provider } from './index.ts';

const KEY = { DAYTONA_API_KEY: 'dtn_secret' };

describe('the configuration of daytona', () => {
  it('needs a key, and says how to give one', () => {
    expect(() => parseDaytonaConfig(context({}, {}))).toThrow(
      expect.objectContaining({ code: 'AUTH_FAILED', hint: expect.stringContaining('DAYTONA_API_KEY') as unknown }),
    );
  });

  it('takes the profile before the variables before its defaults', () => {
    const variables = { ...KEY, DAYTONA_API_URL: 'https://own.example/api/', DAYTONA_TARGET: 'eu' };
    expect(parseDaytonaConfig(context({}, KEY))).toMatchObject({
      apiUrl: 'https://app.daytona.io/api',
      transport: 'sdk',
    });
    expect(parseDaytonaConfig(context({}, variables))).toMatchObject({
      apiUrl: 'https://own.example/api',
      target: 'eu',
    });
    expect(parseDaytonaConfig(context({ target: 'us' }, variables)).target).toBe('us');
  });

  it.each([
    { transport: 'carrier pigeon' },
    { apiUrl: 'example.com' },
    { cwd: 'relative' },
    { cpu: 1.5 },
    { autoDeleteMinutes: -1 },
  ])('refuses %o', (options) => {
    expect(() => parseDaytonaConfig(context(options, KEY))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });

  it('allows pauses for a class that has them and terminals with the SDK', () => {
    const can = (options: Record<string, unknown>): readonly boolean[] => {
      const capabilities = capabilitiesOf(parseDaytonaConfig(context(options, KEY)));
      return [capabilities.has('pause'), capabilities.has('pty')];
    };
    expect(can({})).toEqual([false, true]);
    expect(can({ vm: true, transport: 'toolbox' })).toEqual([true, false]);
  });
});

describe('the probe of daytona', () => {
  it('names what is missing with the line that brings it, and never a key', async () => {
    const without = await provider.probe(context({}, {}));
    expect(without.usable).toBe(false);
    expect(without.findings[0]).toMatchObject({
      level: 'fail',
      fix: expect.stringContaining('sublet config') as unknown,
    });
    const withKey = await provider.probe(context({ transport: 'toolbox' }, KEY));
    expect(withKey.usable).toBe(true);
    expect(JSON.stringify(withKey)).not.toContain('dtn_secret');
  });
});
