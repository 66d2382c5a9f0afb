import { readFile } from 'node:fs/promises';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { SubletError } from '../core/errors.ts';
import type { ProviderOptionField } from '../provider/define-provider.ts';
import { parseProfile } from './parse-profile.ts';
import type { Profile, RouteProfile } from './profile.ts';
import { PROFILE_FIELDS } from './profile-schema.ts';
import type { ProviderCatalog } from './provider-catalog.ts';

const OPTIONS: Readonly<Record<string, Readonly<Record<string, ProviderOptionField>>>> = {
  namespace: {
    uidBase: { type: 'number', description: 'First id.' },
    readOnlyPaths: { type: 'strings', description: 'Shown inside.' },
    cgroups: { type: 'boolean', description: 'Use them.', default: true },
  },
  docker: { mountPath: { type: 'string', description: 'Working directory.', default: '/workspace' } },
  e2b: {
    apiKey: { type: 'string', description: 'Key.', secret: 'E2B_API_KEY' },
    template: { type: 'string', description: 'Template.' },
    timeout: { type: 'number', description: 'Seconds.' },
  },
};

const providers: ProviderCatalog = {
  ids: Object.keys(OPTIONS),
  describe: async (id) => ({ id, capabilities: [], options: OPTIONS[id] ?? {} }),
};

async function parse(raw: unknown): Promise<Profile> {
  const profile = await parseFile(raw);
  return profile.choices === undefined ? profile : expect.unreachable();
}

function parseFile(raw: unknown): Promise<Profile | RouteProfile> {
  const text = typeof raw === 'string' ? raw : JSON.stringify(raw);
  return parseProfile('docker', '/home/ann/.sublet/sandboxes/docker.json', text, providers);
}

async function problemsOf(raw: unknown): Promise<readonly string[]> {
  const error = await parseFile(raw).then(
    () => expect.unreachable(),
    (cause: unknown) => cause,
  );
  expect(SubletError.is(error, 'CONFIG_INVALID')).toBe(true);
  const [title, ...lines] = (error as SubletError).message.split('\n');
  expect(title).toBe('docker.json is not valid:');
  expect((error as SubletError).hint).toBe('Edit /home/ann/.sublet/sandboxes/docker.json.');
  return lines.map((line) => line.trim());
}

describe('a valid profile', () => {
  it('has every field in its place', async () => {
    const profile = await parse({
      $schema: 'https://example.org/schema.json',
      provider: 'namespace',
      kind: 'app',
      image: '/srv/images/python.tar',
      network: 'allowlist',
      env: { LANG: 'C.UTF-8', some_key: '1' },
      limits: { memory: '512m', cpus: 1.5, pids: 100, diskBytes: 1_000_000 },
      mounts: [
        { source: '/data', target: '/data' },
        { source: '/out', target: '/out', readOnly: false },
      ],
      contextId: 'my-project',
      autoStopMinutes: 5,
      idleAction: 'pause',
      autoDeleteMinutes: 60,
      onExit: 'keep',
      onLost: 'fail',
      timeoutSeconds: 30,
      healthCheck: false,
      namespace: { uidBase: 1000, readOnlyPaths: ['/opt'] },
    });
    expect(profile).toMatchObject({
      name: 'docker',
      provider: 'namespace',
      kind: 'app',
      image: '/srv/images/python.tar',
      network: 'allowlist',
      limits: { memoryBytes: 512 * 1024 ** 2, cpuMillis: 1500, pids: 100, diskBytes: 1_000_000 },
      mounts: [
        { source: '/data', target: '/data' },
        { source: '/out', target: '/out', readOnly: false },
      ],
      contextId: 'my-project',
      options: { uidBase: 1000, readOnlyPaths: ['/opt'] },
    });
    expect(profile.policy).toEqual({
      autoStopMinutes: 5,
      idleAction: 'pause',
      autoDeleteMinutes: 60,
      onExit: 'keep',
      onLost: 'fail',
      timeoutSeconds: 30,
      healthCheck: false,
    });
    expect(profile.env['some_key']?.reveal()).toBe('1');
    expect(Object.isFrozen(profile)).toBe(true);
  });

  it('needs nothing but a provider', async () => {
    const profile = await parse({ provider: 'docker' });
    expect(profile).toMatchObject({ provider: 'docker', limits: {}, mounts: [], env: {}, policy: {}, options: {} });
  });

  it('takes the spellings of files written for other tools', async () => {
    const profile = await parse({
      provider: 'docker',
      context_id: 'my-project',
      docker: { image: 'python:3.12-slim', mount_path: '/workspace' },
      on_exit: 'pause',
      auto_stop_minutes: 5,
      limits: { memory_bytes: 1024 },
      mounts: [{ source: '/a', target: '/b', read_only: false }],
    });
    expect(profile).toMatchObject({
      image: 'python:3.12-slim',
      contextId: 'my-project',
      policy: { onExit: 'pause', autoStopMinutes: 5 },
      limits: { memoryBytes: 1024 },
      mounts: [{ readOnly: false }],
      options: { mountPath: '/workspace' },
    });
  });

  it('takes null as not given', async () => {
    const profile = await parse({ provider: 'e2b', image: null, e2b: { template: null } });
    expect(profile).toMatchObject({ image: undefined, options: {} });
  });

  it('keeps keys out of the options and out of everything that prints', async () => {
    const profile = await parse({
      provider: 'e2b',
      env: { TOKEN: 'hunter2' },
      e2b: { api_key: 'hunter2', timeout: 300 },
    });
    expect(profile.options).toEqual({ timeout: 300 });
    expect(profile.secrets['E2B_API_KEY']?.reveal()).toBe('hunter2');
    expect(inspect(profile, { depth: 9 }) + JSON.stringify(profile)).not.toContain('hunter2');
  });
});

describe('an invalid profile', () => {
  it('has all its problems reported at once, with their paths', async () => {
    const problems = await problemsOf({
      provider: 'dokcer',
      netwrok: 'open',
      autoStopMinutes: -1,
      idleAction: 'sleep',
      timeoutSeconds: 'soon',
      limits: { memory: 'lots', pid: 5 },
      mounts: [{ source: 'relative', target: '/' }, 'x'],
      env: { 'not a name': 'x', OK: 5 },
      contextId: '../etc',
    });
    expect(problems.toSorted()).toEqual(
      [
        'provider: must be one of namespace, docker, e2b; did you mean "docker"?',
        'netwrok: unknown key; did you mean "network"?',
        'autoStopMinutes: must be a number of minutes, 0 (never) or more, at most ten years',
        'idleAction: must be one of pause, stop, destroy',
        'timeoutSeconds: must be a number of seconds from 1 to 86400',
        'limits.memory: must be a size like "512m" or "2g", or a number of bytes',
        'limits.pid: unknown key; did you mean "pids"?',
        'mounts.0.source: must be an absolute path',
        'mounts.0.target: must not be the root directory',
        'mounts.1: must be an object with source and target',
        'env.not a name: is not a name a variable can have',
        'env.OK: must be a string',
        'contextId: must be 1 to 128 letters, digits, dots, dashes or underscores, starting with a letter or digit',
      ].toSorted(),
    );
  });

  it.each([
    ['no provider', {}, 'provider: must be one of namespace, docker, e2b'],
    [
      'a section of another provider',
      { provider: 'docker', e2b: {} },
      'e2b: this profile\'s provider is "docker"; only a section of that name belongs here',
    ],
    [
      'an unknown option',
      { provider: 'docker', docker: { mountpath: '/x' } },
      'docker.mountpath: unknown key; did you mean "mountPath"?',
    ],
    [
      'an option of the wrong type',
      { provider: 'namespace', namespace: { readOnlyPaths: '/opt' } },
      'namespace.readOnlyPaths: must be a list of strings',
    ],
    ['a section that is no object', { provider: 'docker', docker: 'x' }, 'docker: must be an object'],
    [
      'the same field in two spellings',
      { provider: 'docker', on_exit: 'keep', onExit: 'pause' },
      'onExit: says the same as "on_exit"; keep one',
    ],
    [
      'the image in two places',
      { provider: 'docker', image: 'a', docker: { image: 'b' } },
      'docker.image: says the same as "image"; keep one',
    ],
    [
      'a limit in two units',
      { provider: 'docker', limits: { memory: '1g', memoryBytes: 5 } },
      'limits.memory: says the same as "memoryBytes"; keep one',
    ],
    [
      'an idle limit beyond the deadline',
      { provider: 'docker', autoStopMinutes: 60, autoDeleteMinutes: 30 },
      'autoStopMinutes: must not exceed autoDeleteMinutes: it would never be reached',
    ],
    [
      'two mounts at one place',
      {
        provider: 'docker',
        mounts: [
          { source: '/a', target: '/x' },
          { source: '/b', target: '/x/' },
        ],
      },
      'mounts.1.target: another mount has the same target',
    ],
    [
      'a mount that climbs',
      { provider: 'docker', mounts: [{ source: '/a', target: '/x/../etc' }] },
      'mounts.0.target: must not contain ".."',
    ],
    [
      'an unknown key of a mount',
      { provider: 'docker', mounts: [{ source: '/a', target: '/x', readonly: true }] },
      'mounts.0.readonly: unknown key; did you mean "readOnly"?',
    ],
    ['an image like an option', { provider: 'docker', image: '--privileged' }, 'image: must not start with a dash'],
    ['a list', [], 'must be a JSON object'],
    ['broken JSON', '{ "provider": "docker", }', 'line 1, column 23: no comma may stand before "}"'],
    [
      'a key that would change the prototype',
      '{ "provider": "docker", "__proto__": { "image": "x" } }',
      '__proto__: unknown key',
    ],
  ])('with %s says so', async (_fault, raw, expected) => {
    expect(await problemsOf(raw)).toEqual([expected]);
  });

  it('reports cross-field problems together with others', async () => {
    const problems = await problemsOf({
      provider: 'docker',
      autoStopMinutes: 60,
      autoDeleteMinutes: 30,
      network: 'off',
    });
    expect(problems).toHaveLength(2);
  });

  it('does not repeat a value that may be a secret', async () => {
    const problems = await problemsOf({ provider: 'e2b', e2b: { apiKey: ['hunter2'] }, env: { TOKEN: ['hunter2'] } });
    expect(problems.join()).not.toContain('hunter2');
  });

  it('ignores the section of a provider that does not exist, whose options nobody knows', async () => {
    expect(await problemsOf({ provider: 'dokcer', dokcer: { anything: 1 } })).toHaveLength(1);
  });
});

describe('a profile of choices', () => {
  it('has names, a network level and needs', async () => {
    expect(await parseFile({ sandbox: ['e2b', 'docker'], network: 'none', needs: ['ports'] })).toEqual({
      name: 'docker',
      file: '/home/ann/.sublet/sandboxes/docker.json',
      choices: ['e2b', 'docker'],
      network: 'none',
      needs: ['ports'],
    });
  });

  it('leaves the rest to the profiles it names', async () => {
    const misplaced = 'belongs in the profiles that "sandbox" names: what they are is theirs to say';
    const raw = { sandbox: ['e2b', 3], provider: 'e2b', image: 'x', e2b: {}, needs: ['wings'], netwrok: 'none' };
    expect(await problemsOf(raw)).toEqual([
      `provider: ${misplaced}`,
      `image: ${misplaced}`,
      `e2b: ${misplaced}`,
      'sandbox: must be the name of a profile or a provider, or a list of them',
      expect.stringContaining('needs: must be one of pause, stop,'),
      'netwrok: unknown key; did you mean "network"?',
    ]);
  });
});

describe('the reference page', async () => {
  const page = await readFile(new URL('../../docs/reference/config.md', import.meta.url), 'utf8');

  it('has an example that is valid', async () => {
    const example = /```json\n(.*?)```/s.exec(page)?.[1] ?? '';
    expect(await parse(example)).toMatchObject({ provider: 'namespace', limits: { memoryBytes: 536_870_912 } });
  });

  it('names every field of a profile', () => {
    for (const field of PROFILE_FIELDS) expect(page, field).toContain(`\`${field}\``);
  });
});

describe('the pools of a profile', () => {
  it('are kept as they are written', async () => {
    const pools = { default: { minIdle: 2, maxTotal: 20, reuse: 'reset', maxUses: 50 }, batch: { whenFull: 'fail' } };
    expect((await parse({ provider: 'docker', pools })).pools).toEqual(pools);
    expect((await parse({ provider: 'docker' })).pools).toEqual({});
  });

  it('are refused with all that is wrong, each with its path', async () => {
    const problems = await problemsOf({
      provider: 'docker',
      contextId: 'shared',
      mounts: [{ source: '/out', target: '/out', readOnly: false }],
      pools: {
        default: { minIdle: 5, maxTotal: 2, maxUses: 3, minIdel: 1 },
        odd: { whenFull: 'hope', createConcurrency: 0, idleTimeoutMinutes: 90, maxAgeMinutes: 60 },
        'a/b': {},
        none: 3,
      },
    });
    expect(problems).toEqual([
      'pools.default.minIdle: minIdle must not exceed maxTotal, which is 2',
      'pools.default.maxUses: needs reuse "reset": without it each sandbox is used once',
      'pools.odd.idleTimeoutMinutes: must not exceed maxAgeMinutes: it would never be reached',
      'contextId: a volume outlives its holder, so a profile with pools cannot have it',
      'mounts.0.readOnly: a directory that can be written outlives its holder, so a profile with pools cannot have it',
      'pools.default.minIdel: unknown key; did you mean "minIdle"?',
      'pools.odd.createConcurrency: must be a whole number of at least 1',
      'pools.odd.whenFull: must be one of wait, fail, create',
      'pools.a/b: is not a name a pool can have',
      'pools.none: must be an object',
    ]);
  });
});
