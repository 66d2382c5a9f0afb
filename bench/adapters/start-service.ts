/** Starts the process that serves a protocol: its work is not part of what is measured. */
import { fork } from 'node:child_process';
import path from 'node:path';

export interface StartedService {
  readonly url: string;
  readonly apiKey: string;
  end(): Promise<void>;
}

/** `file` is in this directory; it sends its URL and its key, and ends when it is disconnected. */
export async function startService(file: string): Promise<StartedService> {
  const child = fork(path.join(import.meta.dirname, file), { stdio: 'inherit' });
  const said = await new Promise<{ url: string; apiKey: string }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { url: string; apiKey: string }));
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    ...said,
    end: async () => {
      child.disconnect();
      await ended;
    },
  };
}
