/**
 * What holds the event loop up for a millisecond or more has a turn of the loop to itself, however many are due at once: starting a
 * process, which blocks until the child has become its program, longer the larger this process is; making or clearing what
 * a sandbox has on the host.
 */

let previous: Promise<void> = Promise.resolve();

/** Resolves when it is the caller's turn, at once when nobody else has had this one. */
export function ownTurn(): Promise<void> {
  const turn = previous;
  previous = turn.then(() => new Promise((resolve) => setImmediate(resolve)));
  return turn;
}
