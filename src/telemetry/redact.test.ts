import { describe, expect, it } from 'vitest';
import { SubletError } from '../core/errors.ts';
import { redact } from './redact.ts';

describe('redact', () => {
  it.each(['apiKey', 'api_key', 'E2B_API_KEY', 'authorization', 'accessToken', 'password', 'clientSecret', 'cookie'])(
    'masks %s at any depth',
    (key) => {
      const printed = JSON.stringify(redact({ [key]: 'hunter2', deep: [{ inner: { [key]: 'hunter2' } }] }));
      expect(printed).not.toContain('hunter2');
      expect(printed.match(/\*\*\*/g)).toHaveLength(2);
    },
  );

  it('masks every value under env and keeps the names', () => {
    expect(redact({ env: { LANG: 'C', DSN: 'x' } })).toEqual({ env: { LANG: '***', DSN: '***' } });
  });

  it('masks logins in addresses and bearer headers inside text', () => {
    const printed = redact({ url: 'see https://me:hunter2@host/x', header: 'Bearer abcdef123456' });
    expect(printed).toEqual({ url: 'see https://***@host/x', header: 'Bearer ***' });
  });

  it('leaves numbers, booleans and ordinary words alone', () => {
    const fields = { sandboxId: 'sbx_1', ms: 3, token: 7, ok: true, none: undefined, message: 'secret santa' };
    expect(redact(fields)).toEqual(fields);
  });

  it('ends at a cycle', () => {
    const loop: Record<string, unknown> = { name: 'loop' };
    loop['self'] = loop;
    expect(JSON.stringify(redact(loop))).toContain('…');
  });

  it('keeps what an error says: code, hint and cause, with secrets masked', () => {
    const cause = new Error('GET https://me:hunter2@host failed');
    const error = new SubletError('AUTH_FAILED', 'refused', { hint: 'log in', cause, details: { apiKey: 'hunter2' } });
    const printed = JSON.stringify(redact({ error }));
    expect(printed).not.toContain('hunter2');
    expect(printed).toContain('"code":"AUTH_FAILED"');
    expect(printed).toContain('"hint":"log in"');
    expect(printed).toContain('GET https://***@host failed');
  });
});
