import { open } from 'sublet';

await using sublet = await open();

// Out of time: everything the command started is killed, and no exit code is invented.
const slow = await sublet.run('sleep 60 & sleep 60', { timeoutMs: 200 });
console.log(slow.timedOut, slow.exitCode); // → true null

// More output than is kept: the beginning and the end stay, and the counts are true.
const long = await sublet.run('seq 1 100000', { maxOutputBytes: 1000 });
console.log(long.truncated, long.stdoutBytes); // → true 588895

// Every byte, as it comes. A promise returned here holds the command back.
let seen = 0;
await sublet.run('seq 1 100000', {
  onStdout: (chunk) => {
    seen += chunk.length;
  },
});
console.log(seen); // → 588895
