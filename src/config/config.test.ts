import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SubletError } from '../core/errors.ts';
import { defaultPolicy } from '../core/policy.ts';
import { createConfig, type Config } from './config.ts';
import { homePaths, type Environment } from './home.ts';
import type { ProviderDescription } from './provider-catalog.ts';

const PROVIDERS: Readonly<Record<string, ProviderDescription>> = {
  namespace: {
    id: 'namespace',
    capabilities: ['network-none', 'network-open'],
    options: { cgroups: { type: 'boolean', description: '', default: true } },
  },
  local: { id: 'local', capabilities: ['network-open'], options: {} },
  e2b: {
    id: 'e2b',
    capabilities: ['network-none', 'network-open'],
    options: {
      apiKey: { type: 'string', description: '', secret: 'E2B_API_KEY' },
      template: { type: 'string', description: '', default: 'base' },
      region: { type: 'string', description: '' },
    },
  },
};

describe('Config', () => {
  let root: string;
  let now: number;
  let warnings: string[];

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'sublet-config-'));
    now = 1_000_000;
    warnings = [];
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  function config(env: Environment = {}, automatic: string | undefined = 'namespace'): Config {
    return createConfig({
      home: homePaths({ SUBLET_HOME: root }),
      env,
      providers: { ids: Object.keys(PROVIDERS), describe: async (id) => PROVIDERS[id] ?? expect.unreachable() },
      automaticProvider: async () => automatic,
      warn: (message) => warnings.push(message),
      now: () => now,
    });
  }

  async function profile(name: string, content: unknown): Promise<string> {
    const file = join(root, 'sandboxes', `${name}.json`);
    await mkdir(join(root, 'sandboxes'), { recursive: true });
    await writeFile(file, JSON.stringify(content), { mode: 0o600 });
    return file;
  }

  async function rejection(promise: Promise<unknown>): Promise<SubletError> {
    const error = await promise.then(
      () => expect.unreachable(),
      (cause: unknown) => cause,
    );
    expect(SubletError.is(error)).toBe(true);
    return error as SubletError;
  }

  describe('with nothing configured', () => {
    it('resolves the embedded provider with the defaults of the kind and no network', async () => {
      expect(await config().resolve({}, { kind: 'app' })).toMatchObject({
        profile: 'namespace',
        provider: 'namespace',
        image: undefined,
        network: 'none',
        env: {},
        limits: {},
        mounts: [],
        contextId: undefined,
        policy: defaultPolicy('app'),
        providerOptions: { cgroups: true },
      });
    });

    it('writes nothing', async () => {
      await config().resolve({}, { kind: 'execution' });
      await config().providerSettings('namespace', 'namespace');
      await config().profiles();
      expect(await readdir(root)).toEqual([]);
    });

    it('refuses rather than run on the bare host when no provider works', async () => {
      const error = await rejection(
        createConfig({
          home: homePaths({ SUBLET_HOME: root }),
          env: {},
          providers: { ids: ['local'], describe: async () => PROVIDERS['local'] ?? expect.unreachable() },
          automaticProvider: async () => undefined,
        }).resolve({}, { kind: 'execution' }),
      );
      expect(error.code).toBe('PROVIDER_UNUSABLE');
      expect(error.hint).toContain('sublet doctor');
    });
  });

  describe('the name', () => {
    const sandboxOf = async (env: Environment, sandbox?: string, previousProfile?: string): Promise<unknown> => {
      const { profile: name, explanation } = await config(env).resolve(
        { sandbox },
        { kind: 'execution', previousProfile },
      );
      return [name, explanation[0]?.source];
    };

    it("is the call's, then the session's, then SUBLET_SANDBOX, then the best embedded provider", async () => {
      const env = { SUBLET_SANDBOX: 'local' };
      expect(await sandboxOf(env, 'namespace', 'e2b')).toEqual(['namespace', 'call']);
      expect(await sandboxOf(env, undefined, 'e2b')).toEqual(['e2b', 'session']);
      expect(await sandboxOf(env)).toEqual(['local', 'env SUBLET_SANDBOX']);
      expect(await sandboxOf({ SUBLET_SANDBOX: '' })).toEqual(['namespace', 'default']);
    });

    it('is a profile before it is a provider', async () => {
      await profile('namespace', { provider: 'e2b' });
      expect(await config().resolve({}, { kind: 'execution' })).toMatchObject({
        profile: 'namespace',
        provider: 'e2b',
      });
    });

    it('that nothing has lists what there is, with the nearest', async () => {
      await profile('python', { provider: 'namespace' });
      const error = await rejection(config().resolve({ sandbox: 'pyhton' }, { kind: 'execution' }));
      expect(error.code).toBe('PROFILE_NOT_FOUND');
      expect(error.message).toBe(
        'No profile and no provider is called "pyhton". Profiles: python. Providers: namespace, local, e2b.',
      );
      expect(error.hint).toBe('Did you mean "python"?');
    });

    it('that a session used before and that is gone says so, and nothing else is used instead', async () => {
      const error = await rejection(config().resolve({}, { kind: 'execution', previousProfile: 'gone' }));
      expect(error.message).toContain('"gone", which this session used before');
    });

    it('from the environment that nothing has names the variable', async () => {
      const error = await rejection(config({ SUBLET_SANDBOX: 'gone' }).resolve({}, { kind: 'execution' }));
      expect(error.message).toContain('"gone" (from SUBLET_SANDBOX)');
    });

    it.each(['../outside', '/etc/passwd', '.hidden', 'a/b'])('is never a path: %s', async (sandbox) => {
      await writeFile(join(root, 'outside.json'), '{ "provider": "local" }');
      expect((await rejection(config().resolve({ sandbox }, { kind: 'execution' }))).code).toBe('PROFILE_NOT_FOUND');
    });
  });

  describe('precedence', () => {
    it('is call, profile, environment, default, and each value remembers its source', async () => {
      await profile('work', {
        provider: 'namespace',
        image: 'from-profile',
        network: 'open',
        onExit: 'keep',
        autoDeleteMinutes: 90,
        autoStopMinutes: 20,
        limits: { memory: '1g', pids: 50 },
        env: { A: 'profile', B: 'profile' },
        mounts: [
          { source: '/p', target: '/data' },
          { source: '/q', target: '/q' },
        ],
      });
      const resolved = await config({
        NAMESPACE_SANDBOX_AUTO_STOP_MINUTES: '7',
        SUBLET_SANDBOX_IMAGE: 'from-env',
        SUBLET_SANDBOX_AUTO_STOP_MAX_MINUTES: '45',
        DEEPAGENTS_SANDBOX_TIMEOUT_SECONDS: '33',
      }).resolve(
        {
          sandbox: 'work',
          network: 'none',
          limits: { pids: 9 },
          env: { B: 'call' },
          mounts: [{ source: '/c', target: '/data/' }],
          policy: { autoStopMinutes: 5 },
        },
        { kind: 'execution' },
      );
      expect(resolved).toMatchObject({
        image: 'from-profile',
        network: 'none',
        limits: { memoryBytes: 1024 ** 3, pids: 9 },
        env: { A: 'profile', B: 'call' },
        policy: { autoStopMinutes: 5, autoDeleteMinutes: 90, onExit: 'keep', timeoutSeconds: 33, healthCheck: true },
      });
      expect(resolved.mounts.map((mount) => mount.source)).toEqual(['/c', '/q']);
      expect(Object.fromEntries(resolved.explanation.map((row) => [row.path, row.source]))).toEqual({
        sandbox: 'call',
        provider: 'profile work.json',
        image: 'profile work.json',
        network: 'call',
        contextId: 'default',
        'limits.memoryBytes': 'profile work.json',
        'limits.pids': 'call',
        'mounts.0': 'call',
        'mounts.1': 'profile work.json',
        'env.A': 'profile work.json',
        'env.B': 'call',
        autoStopMinutes: 'call',
        autoStopMinMinutes: 'default',
        autoStopMaxMinutes: 'env SUBLET_SANDBOX_AUTO_STOP_MAX_MINUTES',
        idleAction: 'default',
        autoDeleteMinutes: 'profile work.json',
        onExit: 'profile work.json',
        onLost: 'default',
        timeoutSeconds: 'env DEEPAGENTS_SANDBOX_TIMEOUT_SECONDS',
        healthCheck: 'default',
        'namespace.cgroups': 'default',
      });
    });

    it('lets variables decide when neither call nor profile does', async () => {
      const env = { SUBLET_SANDBOX_AUTO_STOP_MINUTES: '3', NAMESPACE_SANDBOX_IMAGE: 'img' };
      const { image, policy } = await config(env).resolve({}, { kind: 'execution' });
      expect([image, policy.autoStopMinutes]).toEqual(['img', 3]);
    });

    it('warns once about a variable that does not parse, however often it is read', async () => {
      const subject = config({ SUBLET_SANDBOX_AUTO_STOP_MINUTES: 'soon' });
      for (let round = 0; round < 3; round++) {
        expect((await subject.resolve({}, { kind: 'execution' })).policy.autoStopMinutes).toBe(10);
      }
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('SUBLET_SANDBOX_AUTO_STOP_MINUTES');
    });

    it("takes the profile's kind for the defaults before the session's", async () => {
      await profile('desk', { provider: 'namespace', kind: 'desktop' });
      expect((await config().resolve({ sandbox: 'desk' }, { kind: 'execution' })).policy.autoStopMinutes).toBe(15);
    });

    it('leaves the network open only where the provider cannot cut it', async () => {
      expect((await config().resolve({ sandbox: 'local' }, { kind: 'execution' })).network).toBe('open');
      expect((await config().resolve({ sandbox: 'local', network: 'none' }, { kind: 'execution' })).network).toBe(
        'none',
      );
    });

    it('refuses a bad call before anything else', async () => {
      expect((await rejection(config().resolve({ network: 'off' as never }, { kind: 'execution' }))).code).toBe(
        'CONFIG_INVALID',
      );
    });
  });

  describe('a profile file', () => {
    it('that changed is read again, after a second at most', async () => {
      const subject = config();
      await profile('work', { provider: 'namespace', image: 'one' });
      expect((await subject.resolve({ sandbox: 'work' }, { kind: 'execution' })).image).toBe('one');
      const file = await profile('work', { provider: 'namespace', image: 'two' });
      await utimes(file, 5, 5);
      now += 1_000;
      expect((await subject.resolve({ sandbox: 'work' }, { kind: 'execution' })).image).toBe('two');
    });

    it('that appears or goes is noticed', async () => {
      const subject = config();
      expect((await subject.resolve({}, { kind: 'execution' })).image).toBeUndefined();
      const file = await profile('namespace', { provider: 'namespace', image: 'one' });
      now += 1_000;
      expect((await subject.resolve({}, { kind: 'execution' })).image).toBe('one');
      await rm(file);
      now += 1_000;
      expect((await subject.resolve({}, { kind: 'execution' })).image).toBeUndefined();
    });

    it('is taken as unchanged within a second, so that no call waits for the disk', async () => {
      const subject = config();
      await subject.resolve({}, { kind: 'execution' });
      await profile('namespace', { provider: 'namespace', image: 'one' });
      now += 999;
      expect((await subject.resolve({}, { kind: 'execution' })).image).toBeUndefined();
    });

    it('is looked at again when the clock went back', async () => {
      const subject = config();
      await subject.resolve({}, { kind: 'execution' });
      await profile('namespace', { provider: 'namespace', image: 'one' });
      now -= 50_000;
      expect((await subject.resolve({}, { kind: 'execution' })).image).toBe('one');
    });

    it('that is broken fails every time until it is mended', async () => {
      const subject = config();
      await profile('work', { provider: 'namespace', onExit: 'explode' });
      for (let round = 0; round < 2; round++) {
        const error = await rejection(subject.resolve({ sandbox: 'work' }, { kind: 'execution' }));
        expect(error.message).toBe('work.json is not valid:\n  onExit: must be one of pause, destroy, keep');
      }
      await profile('work', { provider: 'namespace', onExit: 'keep' });
      expect((await subject.resolve({ sandbox: 'work' }, { kind: 'execution' })).policy.onExit).toBe('keep');
    });

    it('that is a directory is reported as unreadable', async () => {
      await mkdir(join(root, 'sandboxes/work.json'), { recursive: true });
      const error = await rejection(config().resolve({ sandbox: 'work' }, { kind: 'execution' }));
      expect(error).toMatchObject({
        code: 'CONFIG_INVALID',
        message: `${join(root, 'sandboxes/work.json')} cannot be read.`,
      });
    });

    it('that holds a key and is open to others draws a warning', async () => {
      const file = await profile('cloud', { provider: 'e2b', e2b: { apiKey: 'hunter2' } });
      await chmod(file, 0o644);
      await config().resolve({ sandbox: 'cloud' }, { kind: 'execution' });
      expect(warnings).toEqual([`${file} holds a key and can be read by other users. Run: chmod 600 ${file}`]);
    });

    it('is listed with its provider, or with what is wrong with it', async () => {
      await profile('b', { provider: 'local' });
      await profile('a', { provider: 'nope' });
      await writeFile(join(root, 'sandboxes/notes.txt'), 'x');
      const list = await config().profiles();
      expect(list.map(({ name, provider, error }) => [name, provider, error?.code])).toEqual([
        ['a', undefined, 'CONFIG_INVALID'],
        ['b', 'local', undefined],
      ]);
    });
  });

  describe('keys', () => {
    it('come from the profile, then the environment, then config.env', async () => {
      await profile('cloud', { provider: 'e2b', e2b: { apiKey: 'from-profile' } });
      const subject = config({ E2B_API_KEY: 'from-env' });
      await subject.setKey('E2B_API_KEY', 'from-file');
      expect((await subject.providerSettings('e2b', 'cloud')).secret('E2B_API_KEY')).toBe('from-profile');
      expect((await subject.providerSettings('e2b', 'e2b')).secret('E2B_API_KEY')).toBe('from-env');
      expect((await config({ E2B_API_KEY: '' }).providerSettings('e2b', 'e2b')).secret('E2B_API_KEY')).toBe(
        'from-file',
      );
      expect((await config().providerSettings('e2b', 'e2b')).secret('OTHER')).toBeUndefined();
    });

    it('are listed by name and removed', async () => {
      const subject = config();
      await subject.setKey('B', '2');
      await subject.setKey('A', '1');
      expect(await subject.keys()).toEqual(['A', 'B']);
      await subject.setKey('A', undefined);
      expect(await subject.keys()).toEqual(['B']);
      expect((await stat(join(root, 'config.env'))).mode & 0o777).toBe(0o600);
    });
  });

  describe('what a provider is opened with', () => {
    it('is its section over its defaults, without keys', async () => {
      await profile('cloud', { provider: 'e2b', e2b: { apiKey: 'hunter2', region: 'eu' } });
      const { options } = await config().providerSettings('e2b', 'cloud');
      expect(options).toEqual({ template: 'base', region: 'eu' });
    });

    it.each(['gone', 'other'])(
      'is the defaults for a profile that is gone or for another provider: %s',
      async (name) => {
        await profile('other', { provider: 'local' });
        expect((await config().providerSettings('e2b', name)).options).toEqual({ template: 'base' });
      },
    );
  });

  describe('explain', () => {
    it('masks every secret and says where it came from', async () => {
      await profile('cloud', { provider: 'e2b', env: { TOKEN: 'hunter2' }, e2b: { apiKey: 'hunter2' } });
      const rows = await config().explain({ sandbox: 'cloud' });
      expect(rows).toContainEqual({ path: 'env.TOKEN', value: '***', source: 'profile cloud.json' });
      expect(rows).toContainEqual({ path: 'e2b.apiKey', value: '***', source: 'profile cloud.json' });
      expect(rows).toContainEqual({ path: 'e2b.template', value: 'base', source: 'default' });
      expect(inspect(rows) + JSON.stringify(rows)).not.toContain('hunter2');
    });

    it('shows a key that is set nowhere, or in config.env', async () => {
      const subject = config();
      const row = async (): Promise<unknown> =>
        (await subject.explain({ sandbox: 'e2b' })).find(({ path }) => path === 'e2b.apiKey');
      expect(await row()).toEqual({ path: 'e2b.apiKey', value: undefined, source: 'default' });
      await subject.setKey('E2B_API_KEY', 'hunter2');
      expect(await row()).toEqual({ path: 'e2b.apiKey', value: '***', source: 'config.env' });
    });
  });

  describe('an ordered choice', () => {
    it('is a list, names with commas, a variable or a file', async () => {
      await profile('production', { sandbox: ['e2b', 'namespace'] });
      const asked = [
        config().resolve({ sandbox: ['e2b', 'namespace'] }, { kind: 'execution' }),
        config().resolve({ sandbox: 'e2b, namespace' }, { kind: 'execution' }),
        config({ SUBLET_SANDBOX: 'e2b,namespace' }).resolve({}, { kind: 'execution' }),
        config().resolve({ sandbox: 'production' }, { kind: 'execution' }),
      ];
      for (const { profile: name, otherwise } of await Promise.all(asked))
        expect([name, otherwise?.map((other) => other.profile)]).toEqual(['e2b', ['namespace']]);
    });

    it('names each once, and a file among others stands for what it names', async () => {
      await profile('production', { sandbox: ['e2b', 'namespace'] });
      const { profile: name, otherwise } = await config().resolve(
        { sandbox: ['namespace', 'production', 'local'] },
        { kind: 'execution' },
      );
      expect([name, ...(otherwise ?? []).map((other) => other.profile)]).toEqual(['namespace', 'e2b', 'local']);
    });

    it('has what each profile says, and what the call says for all', async () => {
      await profile('big', { provider: 'e2b', limits: { memory: '2g' }, needs: ['ports'] });
      const { otherwise, ...first } = await config().resolve(
        { sandbox: ['namespace', 'big'], env: { A: '1' }, needs: ['pause'] },
        { kind: 'execution' },
      );
      expect([first.limits, first.needs, first.env]).toEqual([{}, ['pause'], { A: '1' }]);
      expect(otherwise).toMatchObject([
        { limits: { memoryBytes: 2 * 1024 ** 3 }, needs: ['pause', 'ports'], env: { A: '1' } },
      ]);
    });

    it('never has a weaker network at a later choice', async () => {
      await profile('open', { provider: 'e2b', network: 'open' });
      await profile('production', { sandbox: ['open', 'namespace'], network: 'none', needs: ['pause'] });
      const closedFirst = await config().resolve({ sandbox: ['namespace', 'open'] }, { kind: 'execution' });
      expect([closedFirst.network, closedFirst.otherwise?.[0]?.network]).toEqual(['none', 'none']);
      const floor = await config().resolve({ sandbox: 'production' }, { kind: 'execution' });
      expect([floor.network, floor.needs]).toEqual(['none', ['pause']]);
      const asked = await config().resolve({ sandbox: 'production', network: 'open' }, { kind: 'execution' });
      expect([asked.network, asked.otherwise?.[0]?.network]).toEqual(['open', 'open']);
    });

    it('with a name that is nobody’s is refused as a whole, before it is needed', async () => {
      const error = await rejection(config().resolve({ sandbox: ['namespace', 'e2c'] }, { kind: 'execution' }));
      expect([error.code, error.hint]).toEqual(['PROFILE_NOT_FOUND', 'Did you mean "e2b"?']);
    });

    it('does not name another file that is one', async () => {
      await profile('a', { sandbox: ['b', 'local'] });
      await profile('b', { sandbox: ['a'] });
      const error = await rejection(config().resolve({ sandbox: 'a' }, { kind: 'execution' }));
      expect([error.code, error.message]).toEqual([
        'CONFIG_INVALID',
        'a.json is not valid:\n  sandbox: "b" is a list itself; name what it names',
      ]);
    });

    it('is what a session used before only as far as that one', async () => {
      const { profile: name, otherwise } = await config({ SUBLET_SANDBOX: 'e2b,namespace' }).resolve(
        {},
        { kind: 'execution', previousProfile: 'namespace' },
      );
      expect([name, otherwise]).toEqual(['namespace', undefined]);
    });

    it('is explained choice by choice', async () => {
      await profile('production', { sandbox: ['e2b', 'namespace'], network: 'none' });
      const rows = await config({ E2B_API_KEY: 'secret' }).explain({ sandbox: 'production' });
      expect(rows).toEqual(
        expect.arrayContaining([
          { path: '1: sandbox', value: 'e2b', source: 'profile production.json' },
          { path: '1: e2b.apiKey', value: '***', source: 'env E2B_API_KEY' },
          { path: '2: sandbox', value: 'namespace', source: 'profile production.json' },
          { path: '2: namespace.cgroups', value: true, source: 'default' },
        ]),
      );
    });

    it('is listed with what it names', async () => {
      const file = await profile('production', { sandbox: 'e2b,namespace' });
      expect(await config().profiles()).toEqual([
        { name: 'production', file, provider: undefined, choices: ['e2b', 'namespace'] },
      ]);
    });
  });
});
