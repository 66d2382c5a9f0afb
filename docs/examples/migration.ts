import { open } from 'sublet';

await using sublet = await open();

const chat = await sublet.session({ task: 'report', sandbox: 'namespace' });
await chat.files.write('notes.txt', 'kept');
const before = chat.sandboxId;

// What would stay behind, before anything is done.
const plan = await chat.migrate({ to: 'namespace', dryRun: true });
console.log(plan.left.map(({ what }) => what).join(', ')); // → outside, owners

// Another profile or provider; here a fresh sandbox of the same one.
const report = await chat.migrate({ to: 'namespace' });
console.log(report.entries, report.bytes, chat.sandboxId === before); // → 1 4 false
console.log(await chat.files.readText('notes.txt')); // → kept

await sublet.sandboxes.destroy(chat.sandboxId);
