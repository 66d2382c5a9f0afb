import { open } from 'sublet';

await using sublet = await open();

// Up to two sandboxes for each runtime of this conversation.
const set = sublet.sandboxSet({ user: 'ada', task: 'compare', maxPerRuntime: 2 });

const first = await set.sandbox({ runtime: 'shell' });
await first.files.write('note', 'kept');

// The most recently used one again; what it has is still there.
const again = await set.sandbox({ runtime: 'shell' });
console.log(await again.files.readText('note')); // → kept

// One that nobody has used, beside it.
const second = await set.sandbox({ runtime: 'shell', fresh: true });
console.log(await second.files.exists('note')); // → false

// A third has no room: the one that was not used for longest makes way.
const third = await set.sandbox({ runtime: 'shell', fresh: true });
const present = await set.list('shell');
console.log(present.length, present[0]?.sandboxId === third.sandboxId); // → 2 true

// Private data in one of them takes the network from all.
await second.markPrivate('customer data read');
console.log(third.network); // → none

for (const { sandboxId } of await set.list()) await sublet.sandboxes.destroy(sandboxId);
