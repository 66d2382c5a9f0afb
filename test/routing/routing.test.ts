/** An ordered choice of real providers: namespaces and the bare host behind an engine that is not there and a service without a key. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, type Sublet, type SubletError } from '../../src/index.ts';
import { Installation } from '../cli/installation.ts';
import { requirement } from '../setup/requirements.ts';

const hasNamespaces = await requirement('namespace');
const NO_ENGINE = 'unix:///nowhere/docker.sock';

describe.runIf(hasNamespaces)('an ordered choice', () => {
  let home = '';
  let sublet: Sublet;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sublet-routing-'));
    await mkdir(join(home, 'sandboxes'));
    await profile('development', { provider: 'namespace' });
    await profile('engine', { provider: 'docker', docker: { host: NO_ENGINE } });
    await profile('production', { sandbox: ['engine', 'e2b', 'development'], needs: ['pause'] });
    sublet = await start();
  });

  afterAll(async () => {
    await sublet.destroyAllSessions();
    await sublet.close();
    await rm(home, { recursive: true, force: true });
  });

  function start(): Promise<Sublet> {
    return open({ home, handleSignals: false, env: { PATH: process.env['PATH'] } });
  }

  function profile(name: string, content: unknown): Promise<void> {
    return writeFile(join(home, 'sandboxes', `${name}.json`), JSON.stringify(content));
  }

  it('runs at the first that works, and says why the others were passed over', async () => {
    expect((await sublet.run('echo hi', { sandbox: ['engine', 'e2b', 'namespace'] })).stdout).toBe('hi\n');
    const events = (await sublet.events()).filter(({ type }) => type === 'route.passed-over');
    expect(events.map(({ details }) => details)).toEqual([
      { provider: 'docker', profile: 'engine', code: 'PROVIDER_UNAVAILABLE' },
      { provider: 'e2b', profile: 'e2b', code: 'AUTH_FAILED' },
    ]);
    expect(events[0]?.cause).toContain('there is no such socket');
    expect(events[1]?.cause).toContain('no key');
  });

  it('of a profile keeps its session where it was made, in the next process too', async () => {
    const before = await sublet.session({ task: 'kept', sandbox: 'production' });
    await before.files.write('a.txt', 'still here');
    expect(before.notices).toMatchObject([
      { type: 'routed', profile: 'development', passedOver: [{ profile: 'engine' }, { profile: 'e2b' }] },
    ]);
    await sublet.close();
    sublet = await start();
    const after = await sublet.session({ task: 'kept', sandbox: 'production' });
    expect(after.sandboxId).toBe(before.sandboxId);
    expect(await after.files.readText('a.txt')).toBe('still here');
    expect(after.notices).toEqual([]);
  });

  it('does not end on the bare host unless an open network is asked for', async () => {
    const error = await sublet.run('true', { sandbox: 'engine,local', network: 'none' }).then(
      () => expect.unreachable(),
      (cause: unknown) => cause as SubletError,
    );
    expect(error.code).toBe('ROUTE_EXHAUSTED');
    expect(error.details['choices']).toMatchObject([
      { profile: 'engine', code: 'PROVIDER_UNAVAILABLE' },
      { profile: 'local', code: 'NETWORK_NOT_ENFORCEABLE' },
    ]);
    const asked = { sandbox: 'engine,local', network: 'open' } as const;
    expect((await sublet.run('echo hi', asked)).stdout).toBe('hi\n');
  });

  it('passes over what cannot do what is needed', async () => {
    const { stdout } = await sublet.run('hostname', { sandbox: ['local', 'namespace'], needs: ['isolation'] });
    expect(stdout).not.toBe('');
    const [event] = await sublet.events({ descending: true, limit: 10 }).then((all) => all.filter(isPassed));
    expect(event?.cause).toBe('"local" was passed over (UNSUPPORTED): Provider "local" cannot do "isolation".');
  });
});

describe.runIf(hasNamespaces)('the command line', () => {
  let sublet: Installation;

  beforeAll(async () => {
    sublet = await Installation.create();
  });

  afterAll(() => sublet.remove());

  const env = { DOCKER_HOST: NO_ENGINE };

  it('takes names with commas, by option and by variable', async () => {
    const { status, stdout, stderr } = await sublet.run(['run', '--sandbox', 'docker,namespace', '--', 'echo', 'hi'], {
      env,
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'hi\n' });
    expect(stderr).toMatch(/^sublet: warning: "docker" was passed over \(PROVIDER_UNAVAILABLE\): /);
    const byVariable = { env: { ...env, SUBLET_SANDBOX: 'docker,namespace' } };
    expect(await sublet.output(['run', '--need', 'pause', '--', 'echo', 'hi'], byVariable)).toBe('hi');
  });

  it('ends with every reason when none is left', async () => {
    const { status, stderr } = await sublet.run(['run', '--sandbox', 'docker,e2b', '--', 'true'], { env });
    expect(status).toBe(75);
    expect(stderr).toContain(
      'ROUTE_EXHAUSTED: None of 2 choices could make the sandbox:\n  docker: PROVIDER_UNAVAILABLE:',
    );
    expect(stderr).toContain('\n  e2b: AUTH_FAILED: ');
  });

  it('shows which providers are usable here, why the others are not, and what enables them', async () => {
    const rows = await sublet.json(['providers', '--json'], { env });
    expect(rows.find(({ id }) => id === 'namespace')).toMatchObject({ usable: true });
    expect(rows.find(({ id }) => id === 'docker')).toMatchObject({
      usable: false,
      reason: expect.stringContaining(NO_ENGINE.slice('unix://'.length)) as string,
      fix: expect.stringContaining('DOCKER_HOST') as string,
    });
    expect(rows.find(({ id }) => id === 'e2b')).toMatchObject({
      usable: false,
      fix: expect.stringContaining('sublet config set E2B_API_KEY') as string,
    });
  });

  it('explains each choice', async () => {
    const rows = await sublet.json(['config', 'explain', 'docker,local', '--json'], { env });
    expect(rows).toContainEqual({ path: '1: network', value: 'none', source: 'default' });
    expect(rows).toContainEqual({ path: '2: network', value: 'none', source: 'the first choice' });
  });
});

function isPassed({ type }: { readonly type: string }): boolean {
  return type === 'route.passed-over';
}
