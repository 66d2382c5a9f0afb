import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { findTagged, killTagged, newTag, newTagGroup, tagScript } from './process-tree.ts';

const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

describe.runIf(process.platform === 'linux')('process tags', () => {
  it.each(['dash', 'bash'])('finds and kills what %s started, however far it ran', async (shell) => {
    const tag = newTag();
    await tagged(shell, tag, `${runaway()}; env -i /bin/sleep 1000 & setsid /bin/sleep 1000 & echo ready; sleep 1000`);
    expect((await findTagged({ tag })).length).toBeGreaterThanOrEqual(4);
    expect(await killTagged({ tag })).toBeGreaterThanOrEqual(4);
    expect(await findTagged({ tag })).toEqual([]);
  });

  it('leaves neighbours of the same group and untagged processes alone', async () => {
    const group = newTagGroup();
    const [victim, neighbour] = [newTag(group), newTag(group)];
    await tagged('sh', victim, 'echo ready; sleep 1000');
    const other = await tagged('sh', neighbour, 'echo ready; exec sleep 1000');
    await killTagged({ tag: victim });
    expect(await findTagged({ tag: neighbour })).toEqual([other.pid]);
  });

  it('finds all tags of a group, and none of another', async () => {
    const group = newTagGroup();
    const first = await tagged('sh', newTag(group), 'echo ready; exec sleep 1000');
    const second = await tagged('sh', newTag(group), 'echo ready; exec sleep 1000');
    const foreign = newTag();
    await tagged('sh', foreign, 'echo ready; exec sleep 1000');
    expect(new Set(await findTagged({ group }))).toEqual(new Set([first.pid, second.pid]));
    await killTagged({ group });
    expect(await findTagged({ group })).toEqual([]);
    expect((await findTagged({ tag: foreign })).length).toBe(1);
  });

  it('outruns a tree that keeps forking', async () => {
    const tag = newTag();
    await tagged('sh', tag, 'echo ready; hop() { (sleep 0.01; hop) & }; hop; hop; hop; sleep 1000');
    await killTagged({ tag });
    expect(await findTagged({ tag })).toEqual([]);
  });

  it('sends another signal once and lets the process answer', async () => {
    const tag = newTag();
    const child = await tagged('sh', tag, "trap 'exit 7' TERM; echo ready; while :; do sleep 0.02; done");
    const exited = once(child, 'exit');
    expect(await killTagged({ tag }, 'SIGTERM')).toBeGreaterThanOrEqual(1);
    expect((await exited)[0]).toBe(7);
  });

  it('keeps to the PID namespace it is given', async () => {
    const tag = newTag();
    const child = await tagged('sh', tag, 'echo ready; exec sleep 1000');
    expect(await findTagged({ tag, inPidNamespaceOf: process.pid })).toEqual([child.pid]);
  });

  it('makes tags that a shell can hold and that differ', () => {
    const tags = new Set(Array.from({ length: 1000 }, () => newTag()));
    expect(tags.size).toBe(1000);
    for (const tag of tags) expect(BigInt(tag)).toBeLessThan(2n ** 63n);
  });
});

function runaway(): string {
  return "setsid sh -c '(env -i /bin/sleep 1000 &) ; (setsid /bin/sleep 1000 &)'";
}

async function tagged(shell: string, tag: string, script: string): Promise<ChildProcess> {
  const child = spawn(shell, ['-c', `${tagScript(tag)}; ${script}`], { stdio: ['ignore', 'pipe', 'ignore'] });
  started.push(child);
  await once(child.stdout, 'data');
  return child;
}
