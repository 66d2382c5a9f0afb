/** A secret typed without echo, or piped in. */
import { text as readAll } from 'node:stream/consumers';
import { SubletError } from '../core/errors.ts';
import type { CommandContext } from './command.ts';

export async function readSecret(name: string, { terminal, signal }: CommandContext): Promise<string> {
  if (!terminal.isInteractive) {
    if (terminal.isStdinPiped) return (await readAll(terminal.stdin)).replace(/\r?\n$/, '');
    throw new SubletError('USAGE', `There is no terminal to ask for ${name} on.`, {
      hint: `Pipe the value in: sublet config set ${name} < file`,
    });
  }
  const prompts = await import('@clack/prompts');
  const answer = await prompts.password({ message: `Value for ${name}`, signal });
  if (prompts.isCancel(answer)) throw new SubletError('ABORTED', `${name} was not changed.`);
  return answer;
}
