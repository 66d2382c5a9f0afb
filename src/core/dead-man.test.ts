import { describe, expect, it } from 'vitest';
import { deadManMs, extensionMs } from './dead-man.ts';
import { DEFAULT_POLICY } from './policy.ts';

const MINUTE = 60_000;
const policy = { ...DEFAULT_POLICY, autoStopMinutes: 10 };
const unlimited = { ...policy, autoStopMinutes: 0 };

describe("the dead man's time", () => {
  it('is a little longer than ours, and none when nothing limits the sandbox', () => {
    expect(deadManMs(policy)).toBe(15 * MINUTE);
    expect(deadManMs({ ...unlimited, autoDeleteMinutes: 60 })).toBe(65 * MINUTE);
    expect(deadManMs(unlimited)).toBeUndefined();
  });

  it.each([
    ['just made', { lastActiveAt: 0, deadManAt: 15 * MINUTE }, 0, undefined],
    ['used a minute later', { lastActiveAt: MINUTE, deadManAt: 15 * MINUTE }, MINUTE, undefined],
    ['used three minutes later', { lastActiveAt: 3 * MINUTE, deadManAt: 15 * MINUTE }, 3 * MINUTE, 15 * MINUTE],
    [
      'used then and idle since',
      { lastActiveAt: 3 * MINUTE, deadManAt: 18 * MINUTE, toldAt: 3 * MINUTE },
      9 * MINUTE,
      undefined,
    ],
    ['at a provider that has no deadline', { lastActiveAt: MINUTE, deadManAt: undefined }, MINUTE, undefined],
    [
      'granted less a minute ago',
      { lastActiveAt: 4 * MINUTE, deadManAt: 8 * MINUTE, toldAt: 3 * MINUTE },
      4 * MINUTE,
      undefined,
    ],
    [
      'granted less a while ago',
      { lastActiveAt: 6 * MINUTE, deadManAt: 8 * MINUTE, toldAt: 3 * MINUTE },
      6 * MINUTE,
      15 * MINUTE,
    ],
  ])('of a sandbox %s is moved on by %j at %d: %s', (_what, facts, now, expected) => {
    expect(extensionMs({ policy, toldAt: undefined, ...facts }, now)).toBe(expected);
  });

  it('of what policy does not limit goes on as long as a process has it', () => {
    const facts = { policy: unlimited, lastActiveAt: 0, deadManAt: 60 * MINUTE, toldAt: undefined };
    expect(extensionMs(facts, MINUTE)).toBeUndefined();
    expect(extensionMs(facts, 30 * MINUTE)).toBe(60 * MINUTE);
  });
});
