/** The faulty provider: well when nothing is planned, wrong in exactly the way that is. */
import { describe, expect, it } from 'vitest';
import type { SandboxProvider, SandboxSpec } from '../provider/provider.ts';
import type { Fault } from './faulty-provider-world.ts';
import { FaultyWorld } from './faulty-provider-world.ts';
import { createFaultyProvider } from './faulty-provider.ts';
import { ManualClock, settle } from './manual-clock.ts';

const signal = new AbortController().signal;

describe('well', () => {
  it('makes one sandbox of a name and destroys it, twice without harm', async () => {
    const { world, provider } = stage();
    await provider.create(spec('a'), signal);
    await provider.create(spec('a'), signal);
    expect(world.boxes).toHaveLength(1);
    await provider.destroy({ name: 'a' }, signal);
    await provider.destroy({ name: 'a' }, signal);
    expect(world.boxes).toEqual([]);
    expect(await provider.attach({ name: 'a' }, signal)).toBeUndefined();
  });

  it('has methods exactly for its capabilities', () => {
    const provider = createFaultyProvider(new FaultyWorld(new ManualClock()), { capabilities: ['pause'] });
    const optional = ['pause', 'resume', 'stop', 'start', 'setNetwork', 'reset', 'metrics'].filter(
      (name) => name in provider,
    );
    expect(optional).toEqual(['pause', 'resume']);
  });

  it('lists what carries the labels, over all pages', async () => {
    const { provider } = stage();
    for (let n = 0; n < 5; n++) await provider.create({ ...spec(`s${n}`), labels: { parity: String(n % 2) } }, signal);
    const names: string[] = [];
    for await (const { ref } of provider.list({ parity: '0' }, signal)) names.push(ref.name);
    expect(names).toEqual(['s0', 's2', 's4']);
  });

  it('runs its words, on the clock it was given', async () => {
    const { clock, provider } = stage();
    const { commands, files } = await provider.create({ ...spec('a'), env: { A: 'b' } }, signal);
    await files.write('f', 'text');
    expect((await commands.run('cat f')).stdout).toBe('text');
    expect((await commands.run('printenv A')).stdout).toBe('b\n');
    expect((await commands.run('nonsense')).exitCode).toBe(127);
    expect(await commands.run('output 100', { maxOutputBytes: 10 })).toMatchObject({
      stdoutBytes: 100,
      truncated: true,
      stdout: 'x'.repeat(10),
    });
    const slow = commands.run('sleep 10', { timeoutMs: 5_000 });
    await clock.advance(5_000);
    expect(await slow).toMatchObject({ timedOut: true, exitCode: null, durationMs: 5_000 });
  });

  it('holds the commands of a paused sandbox and fails those of one that is gone', async () => {
    const { world, provider } = stage();
    const { commands } = await provider.create(spec('a'), signal);
    await provider.pause?.({ name: 'a' }, signal);
    let isOver = false;
    const held = commands.run('true').finally(() => (isOver = true));
    await settle();
    expect(isOver).toBe(false);
    await provider.resume?.({ name: 'a' }, signal);
    expect((await held).exitCode).toBe(0);
    world.lose('a');
    await expect(commands.run('true')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
  });
});

describe('reset', () => {
  it('is as it was made, under the same name, and handles from before find it gone', async () => {
    const { world, provider } = stage();
    const before = await provider.create(spec('a'), signal);
    await before.files.write('f', 'text');
    await before.commands.start('sleep 1000');
    await provider.pause?.({ name: 'a' }, signal);
    expect(await provider.reset?.({ name: 'a' }, signal)).toEqual({ clean: true, differences: [] });
    const after = await provider.attach({ name: 'a' }, signal);
    expect(after?.ref).toEqual(before.ref);
    expect(after?.state).toBe('running');
    expect(await after?.files.exists('f')).toBe(false);
    expect(await after?.commands.list()).toEqual([]);
    expect(world.boxes).toHaveLength(1);
    await expect(before.files.exists('f')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
  });

  it.each([
    ['a tightened network', {}, (provider: SandboxProvider) => provider.setNetwork?.({ name: 'a' }, 'none', signal)],
    ['a volume', { contextId: 'kept' }, undefined],
    ['a mount that can be written', { mounts: [{ source: '/a', target: '/b', readOnly: false }] }, undefined],
  ] as const)('is not clean with %s, and says so', async (_, overrides, change) => {
    const { provider } = stage();
    await provider.create({ ...spec('a'), network: 'open', ...overrides }, signal);
    await change?.(provider);
    const report = await provider.reset?.({ name: 'a' }, signal);
    expect(report).toMatchObject({ clean: false, differences: [expect.any(String)] });
  });

  it('unclean leaves what was there and says so, once', async () => {
    const { world, provider } = stage();
    const { files } = await provider.create(spec('a'), signal);
    await files.write('f', 'text');
    world.plan('reset', { type: 'unclean' });
    expect(await provider.reset?.({ name: 'a' }, signal)).toMatchObject({ clean: false });
    expect(await files.exists('f')).toBe(true);
    expect(await provider.reset?.({ name: 'a' }, signal)).toMatchObject({ clean: true });
  });

  it('refuses what is not there', async () => {
    const { provider } = stage();
    await expect(provider.reset?.({ name: 'a' }, signal)).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  });
});

describe('planned to go wrong', () => {
  it.each([
    [{ type: 'refused' }, 'PROVIDER_UNAVAILABLE', 0],
    [{ type: 'lost-answer' }, 'PROVIDER_UNAVAILABLE', 1],
    [{ type: 'rate-limited', retryAfterMs: 5 }, 'RATE_LIMITED', 0],
  ] as const)('%j fails once with %s and leaves %i', async (fault, code, left) => {
    const { world, provider } = stage({ ...fault });
    await expect(provider.create(spec('a'), signal)).rejects.toMatchObject({ code });
    expect(world.boxes).toHaveLength(left);
    await provider.create(spec('a'), signal);
    expect(world.boxes).toHaveLength(1);
  });

  it('slow takes its time and leaves nothing when aborted', async () => {
    const { world, clock, provider } = stage({ type: 'slow', ms: 1_000 }, { type: 'slow', ms: 1_000 });
    const slow = provider.create(spec('a'), signal);
    await clock.advance(1_000);
    await slow;
    const abort = new AbortController();
    const aborted = expect(provider.create(spec('b'), abort.signal)).rejects.toBeDefined();
    abort.abort();
    await aborted;
    expect(world.boxes.map((box) => box.name)).toEqual(['a']);
  });

  it('duplicate makes two of one name, and destroy removes both', async () => {
    const { world, provider } = stage({ type: 'duplicate' });
    await provider.create(spec('a'), signal);
    expect(world.boxes).toHaveLength(2);
    await provider.destroy({ name: 'a' }, signal);
    expect(world.boxes).toEqual([]);
  });

  it('phantom-not-found denies what is there', async () => {
    const { world, provider } = stage();
    await provider.create(spec('a'), signal);
    world.plan('attach', { type: 'phantom-not-found' });
    expect(await provider.attach({ name: 'a' }, signal)).toBeUndefined();
    expect(await provider.attach({ name: 'a' }, signal)).toBeDefined();
  });

  it('goes wrong in the same places with the same seed', async () => {
    const run = async (seed: number): Promise<string> => {
      const { world, provider } = stage();
      world.seed(seed, 0.5, { create: [{ type: 'refused' }] });
      let pattern = '';
      for (let n = 0; n < 32; n++)
        pattern += await provider.create(spec(`s${n}`), signal).then(
          () => '+',
          () => '-',
        );
      return pattern;
    };
    expect(await run(7)).toBe(await run(7));
    expect(await run(7)).not.toBe(await run(8));
  });
});

function stage(...faults: readonly Fault[]): {
  world: FaultyWorld;
  clock: ManualClock;
  provider: ReturnType<typeof createFaultyProvider>;
} {
  const clock = new ManualClock();
  const world = new FaultyWorld(clock);
  world.plan('create', ...faults);
  return { world, clock, provider: createFaultyProvider(world) };
}

function spec(name: string): SandboxSpec {
  return { name, labels: {}, kind: 'execution', network: 'none', ephemeral: true };
}
