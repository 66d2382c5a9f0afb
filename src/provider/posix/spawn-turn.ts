/**
 * Starting a process blocks the event loop until the child has become its program: a millisecond or more, and longer the
 * larger this process is. Many that are due at once therefore start one in each turn of the loop.
 */

let previous: Promise<void> = Promise.resolve();

/** Resolves when it is the caller's turn to start a process, at once when nobody else has in this turn of the loop. */
export function spawnTurn(): Promise<void> {
  const turn = previous;
  previous = turn.then(() => new Promise((resolve) => setImmediate(resolve)));
  return turn;
}
