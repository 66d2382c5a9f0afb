/** Asks before something is gone for good. */
import { SubletError } from '../core/errors.ts';
import type { CommandContext } from './command.ts';

/** False when the user says no. USAGE where there is nobody to ask. */
export async function confirm(question: string, { terminal, signal }: CommandContext): Promise<boolean> {
  if (!terminal.isInteractive) {
    throw new SubletError('USAGE', 'This asks before it destroys, and there is no terminal to ask on.', {
      hint: 'Add --yes to do it without asking.',
    });
  }
  const prompts = await import('@clack/prompts');
  const answer = await prompts.confirm({ message: question, initialValue: false, signal });
  return answer === true;
}
