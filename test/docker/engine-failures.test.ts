/** An engine that is restarted, hangs or has no room left: the errors say so, the next use works, and nothing stays behind. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Sublet } from '../../src/core/api.ts';
import { systemClock } from '../../src/core/system-clock.ts';
import { open } from '../../src/open.ts';
import { DockerApi } from '../../src/providers/docker/docker-api.ts';
import { findEngine } from '../../src/providers/docker/find-engine.ts';
import { type PrivateEngine, startPrivateEngine } from '../setup/private-engine.ts';
import { requirement } from '../setup/requirements.ts';
import { openProvider, signal } from './providers.ts';

const MIB = 1024 * 1024;
const SLOW = { timeout: 180_000 };
const isThere = await requirement('dockerd');

let home = '';
let sublet: Sublet;

async function openOn(engine: PrivateEngine): Promise<Sublet> {
  home = await mkdtemp(path.join(tmpdir(), 'sublet-engine-'));
  const profile = { provider: 'docker', image: engine.image, docker: { host: engine.host } };
  await mkdir(path.join(home, 'sandboxes'));
  await writeFile(path.join(home, 'sandboxes/mine.json'), JSON.stringify(profile));
  const env = { PATH: process.env['PATH'], SUBLET_SANDBOX: 'mine' };
  sublet = await open({ home, env, handleSignals: false, watchdog: false });
  return sublet;
}

/** Somebody who has the engine too, and knows nothing of what others are at. */
class Stranger implements AsyncDisposable {
  readonly api: DockerApi;

  private constructor(api: DockerApi) {
    this.api = api;
  }

  static async of(engine: PrivateEngine): Promise<Stranger> {
    return new Stranger(new DockerApi(await findEngine(engine.host, systemClock)));
  }

  async run(name: string, words: readonly string[]): Promise<void> {
    const socket = await this.api.startExec(await this.#prepare(name, words));
    await once(socket.resume(), 'close');
  }

  /** Nobody waits for its output. */
  async begin(name: string, words: readonly string[]): Promise<string> {
    const exec = await this.#prepare(name, words);
    void this.api.startExec(exec).then(
      (socket) => socket.destroy(),
      () => undefined,
    );
    return exec;
  }

  #prepare(name: string, words: readonly string[]): Promise<string> {
    return this.api.createExec(name, { Cmd: words, AttachStdin: false, AttachStdout: true, AttachStderr: true });
  }

  /** Pauses the container at moments until a command is half-way in. */
  async freezeHalfWay(name: string): Promise<void> {
    for (let times = 0; ; times++) {
      const execs = await Promise.all([1, 2, 3].map(() => this.begin(name, ['sleep', '1'])));
      await delay((times % 10) * 4);
      await this.api.pause(name);
      const facts = await Promise.all(execs.map((exec) => this.api.inspectExec(exec)));
      if (facts.some(({ Running, Pid }) => Running && Pid === 0)) return;
      await this.api.unpause(name);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.api.client.close());
  }
}

async function closeAll(): Promise<void> {
  await sublet.destroyAllSessions();
  await sublet.close();
  await rm(home, { recursive: true, force: true });
}

describe.runIf(isThere)('an engine that fails', () => {
  let engine: PrivateEngine;
  beforeAll(async () => void (engine = await startPrivateEngine()), 120_000);
  afterAll(async () => engine?.[Symbol.asyncDispose](), 120_000);
  beforeEach(async () => void (await openOn(engine)));
  afterEach(async () => {
    engine.thaw();
    await closeAll();
    expect(await engine.remains()).toEqual([]);
  }, 60_000);

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'was restarted after %s: a session goes on with its files',
    SLOW,
    async (signal) => {
      const session = await sublet.session({ user: 'ann', task: signal });
      await session.files.write('kept', 'before');
      expect((await session.commands.run('cat kept')).stdout).toBe('before');
      await engine.restart(signal);
      await expect(session.commands.run('true')).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
      const again = await sublet.session({ user: 'ann', task: signal });
      expect(again.sandboxId).toBe(session.sandboxId);
      expect((await again.commands.run('cat kept')).stdout).toBe('before');
    },
  );

  it('is told to pause while commands are half-way in: each begins first, and the engine goes on', SLOW, async () => {
    const { sandboxId: id, commands } = await sublet.session({ user: 'ann', task: 'half-way' });
    const { name } = await sublet.sandboxes.get(id);
    await using stranger = await Stranger.of(engine);
    for (let times = 0; times < 12; times++) {
      await Promise.all([1, 2, 3].map(() => stranger.begin(name, ['sleep', '5'])));
      await delay(times * 4);
      await sublet.sandboxes.pause(id);
      await sublet.sandboxes.resume(id);
    }
    expect((await commands.run('echo awake')).stdout).toBe('awake\n');
  });

  it('is told to pause while commands of others keep coming: it goes on', SLOW, async () => {
    const { sandboxId: id, commands } = await sublet.session({ user: 'ann', task: 'busy' });
    const { name } = await sublet.sandboxes.get(id);
    await using stranger = await Stranger.of(engine);
    let isOver = false;
    const lane = async (): Promise<void> => {
      while (!isOver) await stranger.run(name, ['true']).catch(() => delay(2));
    };
    const lanes = Array.from({ length: 5 }, lane);
    for (let times = 0; times < 10; times++) {
      await sublet.sandboxes.pause(id);
      await sublet.sandboxes.resume(id);
    }
    isOver = true;
    await Promise.all(lanes);
    expect((await commands.run('echo awake')).stdout).toBe('awake\n');
  });

  it('hangs with a command frozen half-way in: a resume and a destroy help it out', SLOW, async () => {
    const { sandboxId: id, commands } = await sublet.session({ user: 'ann', task: 'stuck' });
    const { name } = await sublet.sandboxes.get(id);
    await using stranger = await Stranger.of(engine);
    const provider = await openProvider({ host: engine.host });
    await stranger.freezeHalfWay(name);
    await provider.resume?.({ name }, signal);
    expect((await commands.run('echo awake')).stdout).toBe('awake\n');
    await stranger.freezeHalfWay(name);
    // From here on the engine does not even describe the container.
    stranger.api.unpause(name).catch(() => undefined);
    await sublet.sandboxes.destroy(id);
    expect(await engine.remains()).toEqual([]);
  });

  it(
    'is stopped in the middle of a command: the command says so, and the sandbox works when the engine is back',
    SLOW,
    async () => {
      const session = await sublet.session({ user: 'ann', task: 'cut' });
      let running: Promise<unknown> = Promise.resolve();
      await new Promise<void>((begun) => {
        running = session.commands.run('echo begun; sleep 1000', { onStdout: () => begun() }).catch((error) => error);
      });
      await engine.restart('SIGTERM');
      // While it ends, the engine may still say that the container runs: then the exit code is one that nobody knows.
      const ended = (await running) as { readonly exitCode?: number | null; readonly code?: string };
      expect(ended.exitCode ?? ended.code).toBeOneOf([undefined, 'STATE_CONFLICT', 'PROVIDER_UNAVAILABLE']);
      const again = await sublet.session({ user: 'ann', task: 'cut' });
      expect((await again.commands.run('echo back')).stdout).toBe('back\n');
    },
  );

  it('hangs: a create ends in time, and what it made after all is removed', SLOW, async () => {
    await sublet.run('true');
    engine.freeze();
    const creating = sublet.session({ user: 'ann', task: 'late', policy: { timeoutSeconds: 2 } });
    await expect(creating).rejects.toMatchObject({ code: 'CREATE_TIMEOUT' });
    engine.thaw();
    await expect.poll(async () => (await sublet.reap(), engine.remains()), { timeout: 60_000 }).toEqual([]);
    const session = await sublet.session({ user: 'ann', task: 'late' });
    expect((await session.commands.run('echo made')).stdout).toBe('made\n');
  });

  it('hangs: a command that is aborted comes back, and is not left running', SLOW, async () => {
    const session = await sublet.session({ user: 'ann', task: 'hung' });
    await session.commands.run('true');
    engine.freeze();
    const controller = new AbortController();
    const running = session.commands.run('sleep 4321', { signal: controller.signal }).catch((error: unknown) => error);
    controller.abort();
    engine.thaw();
    expect(await running).toMatchObject({ code: 'ABORTED' });
    const left = await session.commands.run("ps | grep '[s]leep 4321' || echo none");
    expect(left.stdout).toBe('none\n');
  });

  it('hangs: a command whose time is up comes back all the same, and is not left running', SLOW, async () => {
    const session = await sublet.session({ user: 'ann', task: 'hung' });
    await session.commands.run('true');
    engine.freeze();
    const error = await session.commands.run('sleep 4322', { timeoutMs: 500 }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    engine.thaw();
    const left = "ps | grep '[s]leep 4322' || echo none";
    await expect.poll(async () => (await session.commands.run(left)).stdout, { timeout: 60_000 }).toBe('none\n');
  });

  it('hangs: a command that waits for a shell comes back when its time is up', SLOW, async () => {
    const session = await sublet.session({ user: 'ann', task: 'hung' });
    await session.commands.run('true');
    engine.freeze();
    // What has input gets a shell of its own, which nobody brings now.
    const result = await session.commands.run('cat', { stdin: 'lost', timeoutMs: 500 });
    engine.thaw();
    expect(result).toMatchObject({ timedOut: true, exitCode: null, stdout: '' });
    expect(await session.commands.run('cat', { stdin: 'kept' })).toMatchObject({ stdout: 'kept' });
  });

  it('lost a container that was removed by hand: the next use has another, and says so', SLOW, async () => {
    const session = await sublet.session({ user: 'ann', task: 'removed' });
    await session.commands.run('true');
    await engine.docker('rm', '--force', ...(await engine.docker('ps', '--quiet')).split('\n'));
    await expect(session.commands.run('true')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    const again = await sublet.session({ user: 'ann', task: 'removed' });
    expect(again.sandboxId).not.toBe(session.sandboxId);
    expect((await again.commands.run('echo anew')).stdout).toBe('anew\n');
  });
});

describe.runIf(isThere)('an engine without room', () => {
  let engine: PrivateEngine;
  const mountData = async (dataRoot: string): Promise<void> => {
    await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'sublet-test', dataRoot]);
  };
  beforeAll(async () => void (engine = await startPrivateEngine({ mountData })), 120_000);
  afterAll(async () => engine?.[Symbol.asyncDispose](), 120_000);

  it('says that the disk is full, leaves nothing behind, and works again when there is room', SLOW, async () => {
    await openOn(engine);
    const session = await sublet.session({ user: 'ann', task: 'full' });
    const words = { message: expect.stringMatching(/no space left/i) as string };
    const full = { code: 'FILE_FAILED', ...words, hint: expect.stringContaining('Remove files') as string };
    await expect(session.files.write('archive', Buffer.alloc(80 * MIB))).rejects.toMatchObject(full);
    await session.commands.run('rm -f archive');
    const filled = await session.commands.run('dd if=/dev/zero of=rest bs=64k');
    expect(filled.stderr).toMatch(/no space left/i);
    await expect(session.files.write('small', 'x'.repeat(20_000))).rejects.toMatchObject(full);
    await expect(session.files.write('middle', 'x'.repeat(200_000))).rejects.toMatchObject(full);
    await expect(sublet.run('true')).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', ...words });
    expect(await engine.remains()).toEqual([`container ${await engine.docker('ps', '--format', '{{.Names}}')}`]);
    await session.commands.run('rm rest');
    expect((await sublet.run('echo room')).stdout).toBe('room\n');
    await session.files.write('small', 'fits');
    expect(await session.files.readText('small')).toBe('fits');
    await closeAll();
    expect(await engine.remains()).toEqual([]);
  });
});
