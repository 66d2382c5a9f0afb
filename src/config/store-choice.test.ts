import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseConfigEnv } from './config-env.ts';
import { homePaths } from './home.ts';
import { chooseStore, type StoreName, type StoreSources } from './store-choice.ts';

const HOME = homePaths({ SUBLET_HOME: '/srv/sublet' });
const URL_WITH_SECRET = 'postgres://ada:hunter2@db.example:5433/agents?sslmode=require&password=hunter2';

function choose(sources: { call?: StoreName; env?: string; file?: string }): ReturnType<typeof chooseStore> {
  const all: StoreSources = {
    call: sources.call,
    env: { SUBLET_STORE: sources.env },
    readKeys: async () => parseConfigEnv(sources.file === undefined ? '' : `SUBLET_STORE='${sources.file}'`),
    home: HOME,
  };
  return chooseStore(all);
}

describe('chooseStore', () => {
  it('is the file in the home when nothing is said', async () => {
    expect(await choose({})).toEqual({
      value: { kind: 'sqlite', shown: 'sqlite:/srv/sublet/sublet.db', path: '/srv/sublet/sublet.db' },
      source: 'default',
    });
  });

  it('takes the call before the environment before config.env', async () => {
    const all = { call: 'memory', env: 'sqlite:/a.db', file: 'sqlite:/b.db' } as const;
    expect(await choose(all)).toMatchObject({ value: { kind: 'memory' }, source: 'call' });
    expect(await choose({ env: all.env, file: all.file })).toMatchObject({
      value: { path: '/a.db' },
      source: 'env SUBLET_STORE',
    });
    expect(await choose({ file: all.file })).toMatchObject({ value: { path: '/b.db' }, source: 'config.env' });
  });

  it('takes an empty variable for an unset one', async () => {
    expect((await choose({ env: '  ' })).source).toBe('default');
  });

  it.each([
    ['sqlite', { kind: 'sqlite', path: '/srv/sublet/sublet.db' }],
    ['sqlite:/data/x.db', { kind: 'sqlite', path: '/data/x.db' }],
    ['memory', { kind: 'memory' }],
    ['postgresql://db.example/agents', { kind: 'postgres', shown: 'postgresql://db.example/agents' }],
  ])('understands %s', async (env, value) => {
    expect((await choose({ env })).value).toMatchObject(value);
  });

  it('shows a server without its password and options, and keeps the URL a secret', async () => {
    const { value } = await choose({ env: URL_WITH_SECRET });
    expect(value.shown).toBe('postgres://ada@db.example:5433/agents');
    expect(inspect(value, { depth: Infinity })).not.toContain('hunter2');
    expect(value.kind === 'postgres' && value.url.reveal()).toBe(URL_WITH_SECRET);
  });

  it.each(['sqlite:', 'mysql://ada:hunter2@db/x', '/some/file.db', 'postgres://ada:hunter2@ho st/x'])(
    'refuses %s rather than using another store, and does not repeat it',
    async (env) => {
      const error = await choose({ env }).catch((cause: unknown) => cause);
      expect(error).toMatchObject({
        code: 'CONFIG_INVALID',
        message: 'SUBLET_STORE names no store.',
        hint: expect.stringContaining('sqlite:<path>'),
      });
      expect(inspect(error, { depth: Infinity })).not.toContain('hunter2');
    },
  );
});
