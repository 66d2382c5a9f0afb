import { open } from 'sublet';

await using sublet = await open();

await sublet.ephemeral({ network: 'none' }, async (sandbox) => {
  // `run` starts afresh each time; a shell remembers its directory and variables.
  await using shell = await sandbox.shell();
  await shell.run('mkdir -p src && cd src && greeting=hello');
  const where = await shell.run('echo "$greeting from $(basename "$PWD")"');
  console.log(where.stdout.trim()); // → hello from src

  // Code is handed over as it is: nothing is quoted.
  const sum = await sandbox.runCode('bash', `echo "it's $((6 * 7))"`);
  console.log(sum.stdout.trim()); // → it's 42
});
