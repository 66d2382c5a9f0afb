import { SubletError, open } from 'sublet';

await using sublet = await open();

// In order: the first that can make the sandbox. There is no key for E2B here, so it is the second.
await using chat = await sublet.session({ task: 'report', sandbox: ['e2b', 'namespace'] });
for (const notice of chat.notices)
  if (notice.type === 'routed') console.log(notice.profile, notice.passedOver[0]?.code); // → namespace AUTH_FAILED

// The conversation stays where it is, whatever becomes usable later.
await using again = await sublet.session({ task: 'report', sandbox: ['e2b', 'namespace'] });
console.log(again.sandboxId === chat.sandboxId); // → true

// What a provider cannot do is known before anything is made.
const failed = await sublet.run('true', { sandbox: 'local', needs: ['pause'] }).catch((error: unknown) => error);
console.log(SubletError.is(failed, 'UNSUPPORTED')); // → true

await sublet.sandboxes.destroy(chat.sandboxId);
