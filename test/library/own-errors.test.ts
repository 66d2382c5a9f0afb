/** What a caller's own code throws while a sandbox works for it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, type Session, type Sublet } from '../../src/index.ts';
import { requirement } from '../setup/requirements.ts';

const MINE = new RangeError('mine');
let home = '';
let sublet: Sublet;
let session: Session;

async function* failing(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('some');
  throw MINE;
}

describe.runIf(await requirement('namespace'))("a caller's own error", () => {
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sublet-own-errors-'));
    sublet = await open({ home, handleSignals: false });
    session = await sublet.session({ task: 'own-errors' });
  });

  afterAll(async () => {
    await sublet.destroyAllSessions();
    await sublet.close();
    await rm(home, { recursive: true, force: true });
  });

  it('passes through a run whose callback throws', async () => {
    const onStdout = (): never => {
      throw MINE;
    };
    await expect(session.commands.run('echo x', { onStdout })).rejects.toBe(MINE);
    await expect(sublet.run('echo x', { onStdout })).rejects.toBe(MINE);
  });

  it('passes through when it is no Error', async () => {
    const onStderr = (): Promise<void> => Promise.reject('text');
    await expect(session.commands.run('echo x >&2', { onStderr })).rejects.toBe('text');
  });

  it('passes through when its input fails', async () => {
    await expect(session.commands.run('cat', { stdin: failing() })).rejects.toBe(MINE);
  });

  it('passes through when the content of a file fails', async () => {
    await expect(session.files.write('a', failing())).rejects.toBe(MINE);
    await expect(session.files.writeMany([{ path: 'b', content: failing() }])).rejects.toBe(MINE);
  });

  it('is USAGE when a source gives what is no bytes', async () => {
    async function* numbers(): AsyncGenerator<Uint8Array> {
      yield 5 as never;
    }
    await expect(session.commands.run('cat', { stdin: numbers() })).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('leaves the session usable', async () => {
    expect((await session.commands.run('echo on')).stdout).toBe('on\n');
  });
});
