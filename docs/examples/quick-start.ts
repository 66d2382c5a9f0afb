import { open } from 'sublet';

await using sublet = await open();

// One command: a sandbox is made, used and destroyed.
const once = await sublet.run('echo "hello from $(hostname)"');
console.log(once.stdout.trim()); // → hello from sandbox

// A conversation: the same key finds the same sandbox, also from another process.
await using chat = await sublet.session({ user: 'ada', task: 'report' });
await chat.files.write('data.csv', 'name,amount\nx,3\ny,4\n');
const lines = await chat.commands.run(['wc', '-l', 'data.csv'], { timeoutMs: 10_000 });
console.log(lines.exitCode, lines.stdout.trim()); // → 0 3 data.csv

// Private data has been read: no network from now on, for good.
await chat.markPrivate('customer data read');
console.log(chat.network); // → none

await sublet.sandboxes.destroy(chat.sandboxId);
