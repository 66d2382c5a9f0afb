/** A process that asks for one key many times at once when it is told to, and says which sandbox each call got. */
import { open } from 'sublet';

const [task = '', calls = '0'] = process.argv.slice(2);
const sublet = await open({ handleSignals: false });
process.send?.('ready');
await new Promise((resolve) => process.once('message', resolve));

const sessions = await Promise.all(
  Array.from({ length: Number(calls) }, () => sublet.session({ user: 'scale', task, policy: { onExit: 'keep' } })),
);
process.send?.({
  ids: sessions.map((session) => session.sandboxId),
  created: sessions.filter((session) => session.created).length,
});
await Promise.all(sessions.map((session) => session.release()));
await sublet.close();
process.disconnect();
