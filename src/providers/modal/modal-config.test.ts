import { describe, expect, it } from 'vitest';
import { providerContext } from '../../../test/setup/serve-namespaces.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import { parseModalConfig } from './modal-config.ts';
import { probeModal } from './probe.ts';

const TOKEN = { MODAL_TOKEN_ID: 'ak-1', MODAL_TOKEN_SECRET: 'as-1' };
const context = (options: Record<string, unknown> = {}, secrets: Record<string, string> = TOKEN): ProviderContext =>
  providerContext(options, secrets);

describe('the modal configuration', () => {
  it('assumes a day of life, an app of our own and no ports', () => {
    expect(parseModalConfig(context())).toMatchObject({
      serverUrl: 'https://api.modal.com:443',
      app: 'sublet',
      cwd: '/workspace',
      lifetimeSecs: 86_400,
      idleSecs: undefined,
      keepStoppedSecs: 30 * 86_400,
      ports: [],
      tokenId: 'ak-1',
      tokenSecret: 'as-1',
    });
  });

  it('takes what the profile says before what the variables say', () => {
    const secrets = { ...TOKEN, MODAL_SERVER_URL: 'http://127.0.0.1:1', MODAL_ENVIRONMENT: 'staging' };
    expect(parseModalConfig(context({}, secrets))).toMatchObject({
      serverUrl: 'http://127.0.0.1:1',
      environment: 'staging',
    });
    const options = { serverUrl: 'http://127.0.0.1:2', environment: 'main', ports: ['80', '443'], idleMinutes: 5 };
    expect(parseModalConfig(context(options, secrets))).toMatchObject({
      serverUrl: 'http://127.0.0.1:2',
      environment: 'main',
      ports: [80, 443],
      idleSecs: 300,
    });
  });

  it.each([
    [{ serverUrl: 'api.modal.com' }, 'modal.serverUrl'],
    [{ app: 'no spaces' }, 'modal.app'],
    [{ cwd: 'work' }, 'modal.cwd'],
    [{ lifetimeMinutes: 1441 }, 'modal.lifetimeMinutes'],
    [{ lifetimeMinutes: 0 }, 'modal.lifetimeMinutes'],
    [{ idleMinutes: 0.5 }, 'modal.idleMinutes'],
    [{ keepStoppedDays: 0 }, 'modal.keepStoppedDays'],
    [{ ports: ['http'] }, 'modal.ports'],
    [{ ports: ['65536'] }, 'modal.ports'],
    [{ memoryMb: -1 }, 'modal.memoryMb'],
  ])('refuses %j', (options, name) => {
    expect(() => parseModalConfig(context(options))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(name) as string }) as Error,
    );
  });

  it.each(['MODAL_TOKEN_ID', 'MODAL_TOKEN_SECRET'])(
    'names %s when it is missing, and so does the probe',
    async (name) => {
      const secrets = Object.fromEntries(Object.entries(TOKEN).filter(([each]) => each !== name));
      const hint = `Set ${name}, or run: sublet config set ${name}`;
      expect(() => parseModalConfig(context({}, secrets))).toThrow(
        expect.objectContaining({ code: 'AUTH_FAILED', hint }) as Error,
      );
      const probe = await probeModal(context({}, secrets));
      expect(probe.usable).toBe(false);
      expect(probe.findings[0]).toMatchObject({ name: 'key', level: 'fail', fix: hint });
    },
  );

  it('is usable with a token and the SDK, and the probe shows no secret', async () => {
    const probe = await probeModal(context());
    expect(probe.usable).toBe(true);
    expect(JSON.stringify(probe)).not.toContain('as-1');
  });
});
