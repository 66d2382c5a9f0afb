/** Calls that are written wrong: refused in words, before anything is made. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, type Session, SubletError, type Sublet } from '../../src/index.ts';
import { requirement } from '../setup/requirements.ts';

let home = '';
let sublet: Sublet;
let session: Session;

/** The call's error; what is wrong is what TypeScript would refuse. */
async function refused(call: () => unknown): Promise<SubletError> {
  const error: unknown = await Promise.resolve()
    .then(call)
    .then(
      () => undefined,
      (cause: unknown) => cause,
    );
  if (!SubletError.is(error, 'USAGE')) throw new Error(`not USAGE: ${String(error)}`);
  return error;
}

describe.runIf(await requirement('namespace'))('a call that is written wrong', () => {
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sublet-calls-'));
    sublet = await open({ home, handleSignals: false });
    session = await sublet.session({ task: 'calls' });
  });

  afterAll(async () => {
    await sublet.destroyAllSessions();
    await sublet.close();
    await rm(home, { recursive: true, force: true });
  });

  it('is told every unknown option at once, with the name that is near', async () => {
    const { message, hint } = await refused(() =>
      sublet.run('true', { timeout: 5, netwrok: 'none', memory: '5m' } as object),
    );
    expect(message).toBe(
      [
        'The call of run is not valid:',
        '  timeout: unknown option; did you mean "timeoutMs"?',
        '  netwrok: unknown option; did you mean "network"?',
        '  memory: unknown option',
      ].join('\n'),
    );
    expect(hint).toContain('limits');
  });

  it('makes no sandbox', async () => {
    const before = (await sublet.sandboxes.list({ all: true })).length;
    await refused(() => sublet.run(42 as never));
    await refused(() => sublet.run([]));
    await refused(() => sublet.run('true', { timeoutMs: Number.NaN }));
    await refused(() => sublet.run('true', { timeoutMs: -5 }));
    await refused(() => sublet.runCode('cobol' as never, ''));
    await refused(() => sublet.ephemeral({}, undefined as never));
    await refused(() => sublet.session({ usr: 'u', tsk: 'x' } as object));
    expect((await sublet.sandboxes.list({ all: true })).length).toBe(before);
  });

  it('is refused by a handle too', async () => {
    const { commands, files } = session;
    expect((await refused(() => commands.run('true', { env: { X: 5 as never } }))).message).toContain(
      'env: X must be a string',
    );
    await refused(() => commands.run('true', { timeout: 5 } as object));
    await refused(() => commands.start('true', { stdin: 'text' } as object));
    await refused(() => files.write('a', 5 as never));
    await refused(() => files.write('a', 'text', { mod: 0o600 } as object));
    await refused(() => files.read(5 as never));
    await refused(() => files.readStream('a', { offset: 1 } as object));
    await refused(() => session.shell({ dir: '/tmp' } as object));
  });

  it('is told the network levels there are', async () => {
    const { message } = await refused(() => session.setNetwork('zz' as never, 'why'));
    expect(message).toContain('level: must be one of open, allowlist, none');
    await using lease = await sublet.lease({ sandboxId: session.sandboxId });
    await refused(() => lease.setNetwork('zz' as never, 'why'));
  });

  it('is refused where a typing error would do more than was asked', async () => {
    await refused(() => sublet.reap({ dryrun: true } as object));
    await refused(() => session.migrate({ to: 'local', dryrun: true } as never));
    await refused(() => sublet.lease({ sandboxId: session.sandboxId, ttl: 5 } as never));
    await refused(() => sublet.lease('namespace', { timeout: 5 } as object));
    await refused(() => sublet.session({ task: 'calls', exclusive: { ttl: 5 } as object }));
  });
});

describe.runIf(await requirement('namespace'))('a session that is asked to be another', () => {
  let other: Sublet;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sublet-another-'));
    other = await open({ home, handleSignals: false });
  });

  afterAll(async () => {
    await other.destroyAllSessions();
    await other.close();
    await rm(home, { recursive: true, force: true });
  });

  it('says in words what differs, and that trying again does not help', async () => {
    const task = 'limits';
    await other.session({ task, limits: { pids: 100, memoryBytes: 2 ** 28 } });
    const again = { cpuMillis: undefined, memoryBytes: 2 ** 28, pids: 100 };
    expect((await other.session({ task, limits: again })).created).toBe(false);
    const limits = other.session({ task, limits: { memoryBytes: 2 ** 25 } });
    await expect(limits).rejects.toMatchObject({
      code: 'STATE_CONFLICT',
      retryable: false,
      message: expect.stringContaining('has limits: 256 MiB of memory, 100 processes; asked for: 32 MiB of memory.'),
    });
    const mounts = other.session({ task, mounts: [{ source: '/srv', target: '/mnt/data' }] });
    await expect(mounts).rejects.toMatchObject({
      message: expect.stringContaining('has mounts: none; asked for: /srv at /mnt/data.'),
    });
  });
});
