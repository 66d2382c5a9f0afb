import { open } from 'sublet';

await using sublet = await open();
await using chat = await sublet.session({ user: 'ada', task: 'build' });

const job = await chat.commands.start('for step in 1 2 3; do echo "step $step"; done');
const { exitCode } = await job.wait();
console.log(exitCode); // → 0

// The output is kept, and read again from any byte; another process finds the job by its id.
const again = await chat.commands.attach(job.id);
const { data, end } = await again.output('stdout', 7);
console.log(new TextDecoder().decode(data).split('\n')[0], end); // → step 2 true

await sublet.sandboxes.destroy(chat.sandboxId);
