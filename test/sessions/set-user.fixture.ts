/** A process that asks for fresh sandboxes of one set when it is told to, and says which it got. */
import { open } from 'sublet';

const [max = '1', calls = '1'] = process.argv.slice(2);
const sublet = await open({ handleSignals: false });
const set = sublet.sandboxSet({ user: 'ada', task: 'shared', maxPerRuntime: Number(max) });
process.send?.('ready');
await new Promise((resolve) => process.once('message', resolve));

const policy = { onExit: 'keep' } as const;
const got = await Promise.allSettled(
  Array.from({ length: Number(calls) }, (_, call) => set.sandbox({ fresh: call % 2 === 0, policy })),
);
process.send?.({
  ids: got.flatMap((each) => (each.status === 'fulfilled' ? [each.value.sandboxId] : [])),
  codes: got.flatMap((each) => (each.status === 'rejected' ? [(each.reason as { code?: string }).code] : [])),
});
await sublet.close();
process.disconnect();
