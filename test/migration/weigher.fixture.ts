/** Moves a session with one large file and prints by how many bytes this process grew at most: `weigher.mjs LIBRARY BYTES`. */
import type * as Library from 'sublet';

const [, , library = '', bytes = ''] = process.argv;
const { open } = (await import(library)) as typeof Library;
const sublet = await open({ watchdog: false, handleSignals: false });
const session = await sublet.session({ task: 'large', sandbox: 'namespace' });
await session.commands.run(`truncate -s ${bytes} large`);
const before = process.memoryUsage().rss;
let most = before;
const look = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
const report = await session.migrate({ to: 'namespace' });
clearInterval(look);
process.stdout.write(`${JSON.stringify({ grownBytes: most - before, bytes: report.bytes })}\n`);
await sublet.sandboxes.destroy(session.sandboxId);
await sublet.close();
