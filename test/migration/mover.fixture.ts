/** A process that moves a session and is killed on the way: `mover.mjs LIBRARY PROFILE`. */
import type * as Library from 'sublet';

const [, , library = '', to = ''] = process.argv;
const { open } = (await import(library)) as typeof Library;
const sublet = await open({ watchdog: false, handleSignals: false });
process.stdout.write('ready\n');
await sublet.sandboxes.migrate('execution:anonymous:moved', { to });
process.stdout.write('moved\n');
await sublet.close();
