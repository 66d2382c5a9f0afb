import { SubletError, open } from 'sublet';

await using sublet = await open();

// Two are kept ready; each is used once and then destroyed. A profile can say the same under "pools".
sublet.pools.define('namespace', { minIdle: 2, maxTotal: 2 });
await sublet.pools.warm('namespace');

// What waits is clean: it costs a transaction, not a start.
{
  await using lease = await sublet.lease('namespace', { holder: 'worker 7', ttlMs: 30_000 });
  const answer = await lease.commands.run('echo $((6 * 7))', { signal: lease.lost });
  console.log(answer.stdout.trim()); // → 42
}

// When all are in use, others wait in the order of coming, for as long as they say.
const [first, second] = await Promise.all([sublet.lease('namespace'), sublet.lease('namespace')]);
const late = await sublet.lease('namespace', { timeoutMs: 100 }).catch((error: unknown) => error);
if (SubletError.is(late, 'POOL_EXHAUSTED')) console.log(late.details['leased'], late.details['idle']); // → 2 0
await Promise.all([first.release(), second.release()]);

const { hits, discards } = await sublet.pools.stats('namespace');
console.log(hits >= 1, Object.keys(discards)); // → true [ 'used once' ]
