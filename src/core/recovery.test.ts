import { describe, expect, it } from 'vitest';
import type { AbandonedFacts } from './recovery.ts';
import { ORPHAN_GRACE_MS, judgeByOwner, judgeMissing, judgeOrphan } from './recovery.ts';
import { SANDBOX_STATES } from './states.ts';

const SESSION: AbandonedFacts = {
  state: 'running',
  ephemeral: false,
  policy: { onExit: 'pause' },
  owner: 'dead',
  canPause: true,
  canStop: true,
};
const NOW = 1_000_000;

describe('judgeByOwner', () => {
  it.each(['self', 'alive', 'unknown'] as const)('keeps everything of an owner that is %s', (owner) => {
    for (const state of SANDBOX_STATES) {
      for (const ephemeral of [true, false])
        expect(judgeByOwner({ ...SESSION, owner, state, ephemeral }).action, state).toBe('keep');
    }
  });

  it.each([
    ['creating', 'destroy', 'destroy'],
    ['destroying', 'destroy', 'destroy'],
    ['running', 'destroy', 'pause'],
    ['paused', 'destroy', 'keep'],
    ['stopped', 'destroy', 'keep'],
    ['lost', 'keep', 'keep'],
    ['destroyed', 'keep', 'keep'],
  ] as const)('of a dead owner what is %s: ephemeral %s, a session %s', (state, ephemeral, session) => {
    expect(judgeByOwner({ ...SESSION, state, ephemeral: true }).action).toBe(ephemeral);
    expect(judgeByOwner({ ...SESSION, state }).action).toBe(session);
  });

  it.each([
    ['pause', true, true, 'pause'],
    ['pause', false, true, 'stop'],
    ['pause', false, false, 'keep'],
    ['destroy', true, true, 'destroy'],
    ['keep', true, true, 'keep'],
  ] as const)('follows onExit %s with pause %s and stop %s: %s', (onExit, canPause, canStop, action) => {
    expect(judgeByOwner({ ...SESSION, policy: { onExit }, canPause, canStop }).action).toBe(action);
  });

  it('leaves running what an owner that left in good order kept, and finishes what it began', () => {
    expect(judgeByOwner({ ...SESSION, owner: 'nobody', policy: { onExit: 'destroy' } }).action).toBe('keep');
    expect(judgeByOwner({ ...SESSION, owner: 'none' }).action).toBe('pause');
    expect(judgeByOwner({ ...SESSION, owner: 'none', state: 'destroying' }).action).toBe('destroy');
    expect(judgeByOwner({ ...SESSION, owner: 'none', ephemeral: true }).action).toBe('destroy');
  });

  it('puts to rest what its session gave up for another, whoever has a handle on it still', () => {
    const replaced = { ...SESSION, isReplaced: true };
    expect(judgeByOwner({ ...replaced, user: 'this process' }).action).toBe('pause');
    expect(judgeByOwner({ ...replaced, user: 'a process that had it before', canPause: false }).action).toBe('stop');
    expect(judgeByOwner({ ...replaced, user: 'the holder of its lease' }).action).toBe('adopt');
    expect(judgeByOwner({ ...SESSION, user: 'this process' }).action).toBe('adopt');
  });

  it('says why in words', () => {
    expect(judgeByOwner({ ...SESSION, state: 'creating' }).reason).toBe('half-made when its owner died');
    expect(judgeByOwner({ ...SESSION, ephemeral: true }).reason).toBe('ephemeral, and its owner died');
    expect(judgeByOwner({ ...SESSION, canPause: false }).reason).toMatch(/can only stop/);
    expect(judgeByOwner({ ...SESSION, owner: 'unknown' }).reason).toMatch(/unknown is not dead/);
  });
});

describe('judgeOrphan', () => {
  it.each([
    [1, ORPHAN_GRACE_MS * 10, 'none', 'watch'],
    [2, ORPHAN_GRACE_MS - 1, 'none', 'watch'],
    [2, ORPHAN_GRACE_MS, 'none', 'destroy'],
    [2, ORPHAN_GRACE_MS, 'dead', 'destroy'],
    [9, ORPHAN_GRACE_MS * 10, 'alive', 'keep'],
    [9, ORPHAN_GRACE_MS * 10, 'unknown', 'keep'],
  ] as const)('seen %i times for %i ms, made by one that is %s: %s', (sightings, ageMs, owner, action) => {
    expect(judgeOrphan({ sightings, firstAt: NOW - ageMs, now: NOW }, owner).action).toBe(action);
  });

  it('waits on when the clock was set back behind its first sighting', () => {
    const verdict = judgeOrphan({ sightings: 5, firstAt: NOW + 1, now: NOW }, 'none');
    expect(verdict.action).toBe('watch');
    expect(verdict.reason).toMatch(/seen for 0 s/);
  });
});

describe('judgeMissing', () => {
  it.each([
    [1, ORPHAN_GRACE_MS, 'watch'],
    [2, ORPHAN_GRACE_MS - 1, 'watch'],
    [2, ORPHAN_GRACE_MS, 'mark-lost'],
  ] as const)('missed %i times for %i ms: %s', (sightings, ageMs, action) => {
    expect(judgeMissing({ sightings, firstAt: NOW - ageMs, now: NOW }).action).toBe(action);
  });
});

describe('judgeByOwner of a pool’s sandbox', () => {
  const idle: AbandonedFacts = {
    ...SESSION,
    policy: { onExit: 'destroy' },
    pooled: { isClean: true, keeper: undefined },
  };

  it.each([
    ['is destroyed when no process keeps its pool', {}, 'destroy'],
    ['is adopted when this process keeps it', { pooled: { isClean: true, keeper: 'this process' } }, 'adopt'],
    ['is adopted by another that keeps it', { pooled: { isClean: true, keeper: 'another process' } }, 'adopt'],
    ['is adopted asleep too', { state: 'paused', pooled: { isClean: true, keeper: 'this process' } }, 'adopt'],
    ['is destroyed when it was in use', { pooled: { isClean: false, keeper: 'this process' } }, 'destroy'],
    ['follows whoever else holds its lease', { user: 'the holder of its lease' }, 'adopt'],
    [
      'is destroyed when it is stopped',
      { state: 'stopped', pooled: { isClean: true, keeper: 'this process' } },
      'destroy',
    ],
    ['waits when it was warmed by hand', { policy: { onExit: 'keep' } }, 'keep'],
    ['is destroyed half-made', { state: 'creating' }, 'destroy'],
    ['is left to an owner that may live', { owner: 'unknown' }, 'keep'],
  ] as const)('%s', (_what, fields, action) => {
    expect(judgeByOwner({ ...idle, ...fields })).toMatchObject({ action, reason: expect.stringMatching(/\w/) });
  });
});
