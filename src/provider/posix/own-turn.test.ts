import { describe, expect, it } from 'vitest';
import { ownTurn } from './own-turn.ts';

describe('ownTurn', () => {
  it('gives one turn in each turn of the event loop, in order', async () => {
    const order: string[] = [];
    const turns = ['first', 'second', 'third'].map((name) => ownTurn().then(() => order.push(name)));
    await Promise.race(turns);
    expect(order).toEqual(['first']);
    await Promise.all(turns);
    expect(order).toEqual(['first', 'second', 'third']);
  });
});
