/** A process that has a sandbox which outlives it, until it is killed: `killed-owner.ts HOME`. */
import { open } from 'sublet';

const sublet = await open({ home: process.argv[2] ?? '' });
const { sandboxId, commands } = await sublet.session({
  user: 'bench',
  task: String(process.pid),
  policy: { onExit: 'destroy' },
});
await commands.start(['sleep', '600']);
process.stdout.write(`${sandboxId}\n`);
setInterval(() => undefined, 1_000);
