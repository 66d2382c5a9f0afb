import { describe, expect, it } from 'vitest';
import type { ProcessPlace } from './liveness.ts';
import { HEARTBEAT_MS, SILENCE_LIMIT_MS, isSamePlace, judgeLife } from './liveness.ts';

const HERE: ProcessPlace = { hostId: 'alpha:a', bootId: 'boot-1', pidNamespace: 'pid:[1]' };
const LONG = SILENCE_LIMIT_MS;

describe('judgeLife', () => {
  it.each([
    ['runs here', {}, true, LONG, 'alive'],
    ['does not run here, or its pid is another process by now', {}, false, 0, 'dead'],
    ['is of this place, which cannot be asked', {}, undefined, LONG, 'unknown'],
    ['is of an earlier boot of this machine, whatever runs under its pid now', { bootId: 'boot-0' }, true, 0, 'dead'],
    ['is here, where boots cannot be told apart', { bootId: '' }, true, LONG, 'alive'],
    ['numbers its processes apart and was heard of', { pidNamespace: 'pid:[2]' }, undefined, LONG - 1, 'unknown'],
    ['numbers its processes apart and stood still', { pidNamespace: 'pid:[2]' }, undefined, LONG, 'dead'],
    ['is on another host and was heard of', { hostId: 'beta' }, undefined, LONG - 1, 'unknown'],
    ['is on another host and stood still', { hostId: 'beta' }, undefined, LONG, 'dead'],
    ['is of another home and runs here', { hostId: 'alpha:b' }, true, LONG, 'alive'],
    ['is of another home and does not run here', { hostId: 'alpha:b' }, false, 0, 'dead'],
    ['may be on a copy of this machine', { hostId: 'alpha:b', bootId: 'b' }, undefined, LONG - 1, 'unknown'],
    ['is of an earlier boot, from before homes were named', { hostId: 'alpha', bootId: 'b' }, true, 0, 'dead'],
    ['is on another host that booted at another time', { hostId: 'beta', bootId: 'b' }, undefined, 0, 'unknown'],
  ] as const)('of one that %s', (_, difference, isRunning, silentMs, expected) => {
    expect(judgeLife({ ...HERE, ...difference }, HERE, { isRunning, silentMs })).toBe(expected);
  });

  it('never takes the word of a pid of another place', () => {
    const elsewhere = { ...HERE, hostId: 'beta' };
    expect(isSamePlace(elsewhere, HERE)).toBe(false);
    expect(judgeLife(elsewhere, HERE, { isRunning: false, silentMs: 0 })).toBe('unknown');
  });

  it('needs many heartbeats missed, so that one that was late is not dead', () => {
    expect(SILENCE_LIMIT_MS / HEARTBEAT_MS).toBeGreaterThanOrEqual(10);
  });
});
