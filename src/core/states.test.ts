import { describe, expect, it } from 'vitest';
import { canMove, isLive, LIVE_STATES, SANDBOX_STATES, statesBefore, type SandboxState } from './states.ts';

const LEGAL: readonly (readonly [SandboxState, SandboxState])[] = [
  ['creating', 'running'],
  ['creating', 'destroying'],
  ['running', 'paused'],
  ['running', 'stopped'],
  ['running', 'destroying'],
  ['running', 'lost'],
  ['paused', 'running'],
  ['paused', 'stopped'],
  ['paused', 'destroying'],
  ['paused', 'lost'],
  ['stopped', 'running'],
  ['stopped', 'destroying'],
  ['stopped', 'lost'],
  ['destroying', 'destroyed'],
  ['lost', 'destroying'],
  ['destroyed', 'destroying'],
];

const PAIRS = SANDBOX_STATES.flatMap((from) => SANDBOX_STATES.map((to) => [from, to] as const));

describe('the moves', () => {
  it.each(PAIRS)('from %s to %s are as the design draws them', (from, to) => {
    expect(canMove(from, to)).toBe(LEGAL.some(([a, b]) => a === from && b === to));
  });

  it('lead from destroyed only to destroying again', () => {
    expect(SANDBOX_STATES.filter((to) => canMove('destroyed', to))).toEqual(['destroying']);
  });

  it('lead from every state to destroyed', () => {
    for (const start of SANDBOX_STATES) expect(reachable(start), start).toContain('destroyed');
  });

  it('enter creating from nowhere', () => {
    expect(statesBefore('creating')).toEqual([]);
  });

  it.each(SANDBOX_STATES)('into %s come from the states listed before it', (to) => {
    expect(statesBefore(to)).toEqual(SANDBOX_STATES.filter((from) => canMove(from, to)));
  });
});

describe('isLive', () => {
  it('holds wherever the provider has something of ours', () => {
    expect(SANDBOX_STATES.filter(isLive)).toEqual([...LIVE_STATES]);
    expect(SANDBOX_STATES.filter((state) => !isLive(state))).toEqual(['destroyed', 'lost']);
  });
});

function reachable(start: SandboxState): ReadonlySet<SandboxState> {
  const seen = new Set<SandboxState>([start]);
  for (const from of seen) for (const to of SANDBOX_STATES) if (canMove(from, to)) seen.add(to);
  return seen;
}
