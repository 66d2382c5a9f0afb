/** A process that takes from a pool again and again when it is told to, and says which sandboxes it had and what it found in them. */
import { open } from 'sublet';

const [pool = '', leases = '0', takers = '1'] = process.argv.slice(2);
const sublet = await open({ handleSignals: false });
process.send?.('ready');
await new Promise((resolve) => process.once('message', resolve));

const had: { readonly id: string; readonly from: number; readonly until: number; readonly found: string }[] = [];
let begun = 0;
const take = async (): Promise<void> => {
  while (begun < Number(leases)) {
    begun += 1;
    const lease = await sublet.lease(pool, { timeoutMs: 120_000 });
    const from = Date.now();
    const { stdout } = await lease.commands.run('cat left 2>/dev/null; echo mine >left; cat left');
    had.push({ id: lease.sandboxId, from, until: Date.now(), found: stdout });
    await lease.release();
  }
};
await Promise.all(Array.from({ length: Number(takers) }, take));
process.send?.(had);
// One of them is killed here; the others leave in good order.
await new Promise((resolve) => process.once('message', resolve));
await sublet.close();
process.disconnect();
