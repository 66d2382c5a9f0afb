/** A child with pipes behaves the same by streams and by bare handles. */
import { describe, expect, it } from 'vitest';
import { spawnBare } from './bare-child.ts';
import { findBareHandles } from './bare-handles.ts';
import type { PipedChild, PipedChildOptions } from './piped-child.ts';
import { spawnPipedChild } from './spawn-piped-child.ts';

type Start = (options: PipedChildOptions) => PipedChild;

const WAYS: readonly (readonly [string, Start])[] = [
  ['streams', spawnPipedChild],
  ['bare handles', (options) => spawnBare(findBareHandles(), options)],
];

describe.each(WAYS)('a child by %s', (_, start) => {
  const shell = (script: string): PipedChild =>
    start({
      file: 'sh',
      args: ['-c', script],
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', WORD: 'given' },
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });

  const heard = (child: PipedChild): { text: string } => {
    const said = { text: '' };
    child.pipes[2]?.onData((chunk) => (said.text += Buffer.from(chunk).toString()));
    return said;
  };

  it('has its code when all it said was heard', async () => {
    const child = shell('head -c 200000 /dev/zero >&2; echo "$WORD" >&2; exit 7');
    const said = heard(child);
    expect(await child.code).toBe(7);
    expect([said.text.length, said.text.slice(-6)]).toEqual([200_006, 'given\n']);
    expect(child.hasEnded).toBe(true);
  });

  it('reads what is written to it, and the end when that is destroyed', async () => {
    const child = shell('read -r line <&3; echo "$line" >&2; cat <&3 >/dev/null; echo over >&2');
    const said = heard(child);
    child.pipes[3]?.write('word\n');
    await expect.poll(() => said.text).toBe('word\n');
    expect(child.hasEnded).toBe(false);
    child.pipes[3]?.destroy();
    child.pipes[3]?.destroy();
    child.pipes[3]?.write('lost');
    expect(await child.code).toBe(0);
    expect(said.text).toBe('word\nover\n');
  });

  it('has no code when a signal ended it, and leads a session of its own', async () => {
    const child = shell(
      'read -r pid name state parent group session rest </proc/$$/stat; echo "$session" >&2; exec sleep 60',
    );
    const said = heard(child);
    await expect.poll(() => said.text.trim()).toBe(String(child.pid));
    child.unref();
    child.ref();
    child.kill();
    await child.exited;
    expect(await child.code).toBeNull();
    child.kill();
  });

  it('that cannot be started says so', async () => {
    const child = start({
      file: 'no-such-program',
      args: [],
      cwd: '/',
      env: {},
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    await child.exited;
    expect(child.pid).toBeUndefined();
    await expect(child.code).rejects.toThrow('spawn no-such-program ENOENT');
  });
});
