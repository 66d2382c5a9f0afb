/** Sessions that go elsewhere with everything that is in them: between real namespaces, and to the bare host. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, type Session, type Sublet } from '../../src/index.ts';
import { Installation } from '../cli/installation.ts';
import { dockerHost, dockerImage, requirement } from '../setup/requirements.ts';
import { LIST_FILES, MAKE_ODD_FILES } from './odd-files.ts';

const hasNamespaces = await requirement('namespace');
const MINUTES = 60_000;

/** An open network needs a program that connects it. */
const hasUplink = (await requirement('pasta')) || (await requirement('slirp4netns'));
const hasDocker = await requirement('docker');

describe.runIf(hasNamespaces)('a session', () => {
  let home = '';
  let sublet: Sublet;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sublet-migration-'));
    await mkdir(join(home, 'sandboxes'));
    await profile('there', { provider: 'namespace', limits: { pids: 200 } });
    await profile('small', { provider: 'namespace', limits: { disk: '2m' } });
    await profile('engine', { provider: 'docker', docker: { host: 'unix:///nowhere/docker.sock' } });
    await profile('container', { provider: 'docker', image: dockerImage(), docker: { host: dockerHost() ?? '' } });
    await profile('volume', { provider: 'namespace', contextId: 'shared' });
    await profile('loose', { provider: 'namespace', network: 'open' });
    await profile('bare', { provider: 'local', network: 'open' });
    sublet = await open({ home, handleSignals: false });
  });

  afterAll(async () => {
    await sublet.destroyAllSessions();
    await sublet.close();
    await rm(home, { recursive: true, force: true });
  });

  function profile(name: string, content: unknown): Promise<void> {
    return writeFile(join(home, 'sandboxes', `${name}.json`), JSON.stringify(content));
  }

  async function listing(session: Session): Promise<string> {
    const { stdout, stderr } = await session.commands.run(['bash', '-c', LIST_FILES], { maxOutputBytes: 1e6 });
    expect(stderr).toBe('');
    return stdout;
  }

  /** The session's own sandbox, and nothing else of it anywhere. */
  async function expectOnlyAt(session: Session, profileName: string): Promise<void> {
    const live = await sublet.sandboxes.list({ sessionKey: session.key });
    expect(live.map(({ id, state, profile: at }) => [id, state, at])).toEqual([
      [session.sandboxId, 'running', profileName],
    ]);
  }

  it('takes every kind of file along, bit for bit', { timeout: 5 * MINUTES }, async () => {
    const session = await sublet.session({ task: 'odd', sandbox: 'namespace' });
    expect(await session.commands.run(['bash', '-c', MAKE_ODD_FILES])).toMatchObject({ exitCode: 0 });
    const before = await listing(session);
    const entries = before.trimEnd().split('\n').length;
    expect(entries).toBe(22);
    const from = session.sandboxId;
    const report = await session.migrate({ to: 'there' });
    expect(await listing(session)).toBe(before);
    expect(report).toMatchObject({
      from: { profile: 'namespace', sandboxId: from },
      to: { profile: 'there', sandboxId: session.sandboxId },
      entries,
      network: 'none',
    });
    expect(report.bytes).toBeGreaterThan(8_000_000);
    expect(session.notices.map(({ type }) => type)).toEqual(['migrated']);
    await expectOnlyAt(session, 'there');
    expect(await sublet.sandboxes.get(from)).toMatchObject({ state: 'destroyed' });
    const again = await sublet.session({ task: 'odd' });
    expect([again.sandboxId, again.created]).toEqual([session.sandboxId, false]);
  });

  it.runIf(hasUplink)('goes to the bare host and back with an open network', async () => {
    const session = await sublet.session({ task: 'open', sandbox: 'namespace', network: 'open' });
    await session.files.write('a.txt', 'from inside');
    await session.migrate({ to: 'bare' });
    expect(await session.files.readText('a.txt')).toBe('from inside');
    await expectOnlyAt(session, 'bare');
    await session.migrate({ to: 'there' });
    expect(await session.files.readText('a.txt')).toBe('from inside');
    expect([session.network, (await sublet.sandboxes.get(session.sandboxId)).network]).toEqual(['open', 'open']);
  });

  it('keeps its network, also where the profile has another, and goes nowhere that cannot cut it', async () => {
    const session = await sublet.session({ task: 'closed', sandbox: 'namespace' });
    await session.markPrivate('read something');
    await expect(session.migrate({ to: 'bare' })).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
    await expectOnlyAt(session, 'namespace');
    await session.migrate({ to: ['bare', 'loose'] });
    await expectOnlyAt(session, 'loose');
    expect((await sublet.sandboxes.get(session.sandboxId)).network).toBe('none');
  });

  it.runIf(hasDocker)('goes into a container and back', { timeout: 5 * MINUTES }, async () => {
    const session = await sublet.session({ task: 'container', sandbox: 'namespace' });
    expect(await session.commands.run(['bash', '-c', MAKE_ODD_FILES])).toMatchObject({ exitCode: 0 });
    const before = await listing(session);
    const there = await session.migrate({ to: 'container' });
    await expectOnlyAt(session, 'container');
    expect(there.left.map(({ what }) => what)).toEqual(['outside', 'owners']);
    expect((await session.commands.run(['cat', 'with space/a file'])).stdout).toBe('text');
    const back = await session.migrate({ to: 'there' });
    expect(back.left.map(({ what }) => what)).toEqual(['outside', 'owners', 'ports']);
    expect([back.entries, back.bytes, back.sha256]).toEqual([there.entries, there.bytes, there.sha256]);
    expect(await listing(session)).toBe(before);
  });

  it('stays where it is when the target has no room', async () => {
    const session = await sublet.session({ task: 'full', sandbox: 'namespace' });
    await session.commands.run('head -c 5000000 /dev/urandom > big');
    const { sandboxId } = session;
    await expect(session.migrate({ to: 'small' })).rejects.toMatchObject({ code: 'FILE_FAILED' });
    expect(session.sandboxId).toBe(sandboxId);
    await expectOnlyAt(session, 'namespace');
    expect((await session.commands.run('wc -c < big')).stdout.trim()).toBe('5000000');
  });

  it('stays where it is when a file cannot be read', async () => {
    const session = await sublet.session({ task: 'unreadable', sandbox: 'namespace' });
    const made = await session.commands.run('mkdir d && printf x > d/f && chmod 0 d/f d && ! ls d 2>/dev/null');
    expect(made.exitCode).toBe(0);
    await expect(session.migrate({ to: 'there' })).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await expectOnlyAt(session, 'namespace');
  });

  it('stays where it is when its files keep changing, and goes when what changes them is ended', async () => {
    const session = await sublet.session({ task: 'writing', sandbox: 'namespace' });
    // Between two looks at all files lies enough time for the one that changes, however busy the machine is.
    await session.commands.run('head -c 30000000 /dev/urandom >ballast');
    // Never empty, and never twice the same.
    await session.commands.start('i=0; while :; do i=$((i + 1)); echo $i >next; mv next now; done');
    await expect.poll(() => session.files.exists('now')).toBe(true);
    await expect(session.migrate({ to: 'there' })).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await expectOnlyAt(session, 'namespace');
    const report = await session.migrate({ to: 'there', endCommands: true });
    expect(report.left).toContainEqual({ what: 'processes', message: '1 background command is ended.' });
    await expectOnlyAt(session, 'there');
  });

  it('goes to the first choice that can take it', async () => {
    const session = await sublet.session({ task: 'choices', sandbox: 'namespace' });
    await session.files.write('a.txt', 'kept');
    const report = await session.migrate({ to: ['engine', 'there'] });
    expect(report.to).toMatchObject({ profile: 'there', provider: 'namespace' });
    expect(await session.files.readText('a.txt')).toBe('kept');
    await expect(session.migrate({ to: 'engine' })).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
  });

  it('does not overwrite what a volume has', async () => {
    const owner = await sublet.session({ task: 'owner', sandbox: 'volume' });
    await owner.files.write('precious.txt', 'somebody’s');
    const session = await sublet.session({ task: 'guest', sandbox: 'namespace' });
    await expect(session.migrate({ to: 'volume' })).rejects.toMatchObject({ code: 'FILE_FAILED' });
    expect(await owner.files.readText('precious.txt')).toBe('somebody’s');
    const report = await owner.migrate({ to: 'there' });
    expect(report.left.map(({ what }) => what)).toContain('volume');
    expect(await owner.files.readText('precious.txt')).toBe('somebody’s');
  });

  it('is refused to others while it moves, and found by them at its new place', async () => {
    const other = await open({ home, handleSignals: false });
    try {
      const session = await sublet.session({ task: 'shared', sandbox: 'namespace' });
      const theirs = await other.session({ task: 'shared' });
      await session.commands.run('head -c 30000000 /dev/urandom > big');
      const codes = new Set<string>();
      let isOver = false;
      const ask = async (): Promise<void> => {
        while (!isOver) {
          await theirs.commands.run('true').catch((cause: { code: string }) => codes.add(cause.code));
          await new Promise(setImmediate);
        }
      };
      await Promise.all([session.migrate({ to: 'there' }).finally(() => (isOver = true)), ask()]);
      expect(codes).toContain('LEASE_HELD');
      await expect(theirs.commands.run('true')).rejects.toMatchObject({ code: 'CLOSED' });
      const again = await other.session({ task: 'shared' });
      expect(again.sandboxId).toBe(session.sandboxId);
      expect((await again.commands.run('wc -c < big')).stdout.trim()).toBe('30000000');
    } finally {
      await other.close();
    }
  });

  it('that is held goes with its holder, and of another’s nothing is moved', async () => {
    const session = await sublet.session({ task: 'held', sandbox: 'namespace', exclusive: true });
    const other = await open({ home, handleSignals: false });
    try {
      const refused = other.sandboxes.migrate('execution:anonymous:held', { to: 'there' });
      await expect(refused).rejects.toMatchObject({ code: 'LEASE_HELD' });
      await session.migrate({ to: 'there' });
      await expectOnlyAt(session, 'there');
      expect(session.lease?.lost.aborted).toBe(false);
      expect((await session.commands.run('echo mine')).stdout).toBe('mine\n');
      await expect(other.session({ task: 'held' })).rejects.toMatchObject({ code: 'LEASE_HELD' });
    } finally {
      await session.release();
      await other.close();
    }
  });

  it('says what would stay behind, and does nothing', async () => {
    const session = await sublet.session({ task: 'dry', sandbox: 'namespace' });
    await session.commands.start('sleep 600');
    const { sandboxId } = session;
    const report = await session.migrate({ to: 'there', dryRun: true });
    expect(report.left.map(({ what }) => what)).toEqual(['outside', 'owners', 'processes']);
    expect([session.sandboxId, report.to.sandboxId]).toEqual([sandboxId, undefined]);
    expect(await sublet.sandboxes.list({ sessionKey: session.key })).toHaveLength(1);
  });

  it('given up half-way stays where it is', async () => {
    const session = await sublet.session({ task: 'given-up', sandbox: 'namespace' });
    await session.commands.run('head -c 50000000 /dev/urandom > big');
    const abort = new AbortController();
    const moving = session.migrate({ to: 'there', signal: abort.signal });
    setTimeout(() => abort.abort(), 150);
    await expect(moving).rejects.toMatchObject({ code: 'ABORTED' });
    await expectOnlyAt(session, 'namespace');
    expect((await session.commands.run('wc -c < big')).stdout.trim()).toBe('50000000');
  });
});

describe.runIf(hasNamespaces)('sublet migrate', () => {
  let sublet: Installation;

  beforeAll(async () => {
    sublet = await Installation.create();
    await mkdir(join(sublet.home, 'sandboxes'), { recursive: true });
    await writeFile(join(sublet.home, 'sandboxes', 'there.json'), JSON.stringify({ provider: 'namespace' }));
  });

  afterAll(() => sublet.remove());

  it('moves a thread with its files, and says what stayed behind', async () => {
    await sublet.output(['run', '--thread', 'demo', '--', 'sh', '-c', 'echo kept > note']);
    expect(await sublet.output(['migrate', 'demo', '--to', 'there', '--dry-run'])).toMatch(
      /^execution:anonymous:demo would go from namespace to there\n {2}outside: /,
    );
    const [report] = await sublet.json(['migrate', 'demo', '--to', 'there', '--json']);
    expect(report).toMatchObject({ key: 'execution:anonymous:demo', to: { profile: 'there' }, entries: 1, bytes: 5 });
    expect(await sublet.output(['run', '--thread', 'demo', '--', 'cat', 'note'])).toBe('kept');
    const [row, ...others] = await sublet.json(['ls', '--json']);
    expect([row?.['profile'], others]).toEqual(['there', []]);
    expect((await sublet.run(['migrate', 'demo'])).status).toBe(64);
  });
});
