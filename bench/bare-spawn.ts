/** The raw thing that commands are measured against: a child process whose output is read to the end. */
import { spawn } from 'node:child_process';

/** Resolves with standard output; rejects when the process does not end with 0. */
export function bareSpawn([file = '', ...args]: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], ...(env === undefined ? {} : { env }) });
    const chunks: Buffer[] = [];
    let complaint = '';
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0
        ? resolve(Buffer.concat(chunks).toString())
        : reject(new Error(`${file} ended with ${code}: ${complaint.trim()}`)),
    );
  });
}

/** Why the command does not work here, or undefined when it does. */
export function whyNot(command: readonly string[]): Promise<string | undefined> {
  return bareSpawn(command).then(
    () => undefined,
    (error: Error) => error.message.split('\n').at(-1),
  );
}
