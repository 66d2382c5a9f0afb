import { expect, it } from 'vitest';
import { ManualClock } from '../../testing/manual-clock.ts';
import { Supply } from './supply.ts';

it('outlives a thing that cannot be given up when nobody has taken it', async () => {
  const clock = new ManualClock();
  let discarded = 0;
  const discard = async (): Promise<void> => {
    discarded++;
    throw new Error('too many open files');
  };
  const supply = new Supply(async () => ({ setReferenced: () => undefined, discard }), clock);
  supply.prepare();
  // A rejection that nobody handles ends the process.
  await clock.advance(60_000);
  expect(discarded).toBe(1);
});
