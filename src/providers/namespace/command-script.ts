/** The script an armed shell is given for one command. Pure. */
import type { Command } from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';
import { type ProcessTag, tagScript } from '../../provider/posix/process-tree.ts';
import { shellCommand, shellQuote } from '../../provider/posix/shell-quote.ts';
import { CHANNEL_DIR, WORKDIR } from './layout.ts';

export interface CommandScript {
  readonly command: Command;
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly tag: ProcessTag;
}

/** What comes before and with the command, for a shell whose directory may be any. */
export function commandScript(script: CommandScript): string {
  const lines = [tagScript(script.tag), `cd -- ${shellQuote(script.cwd ?? WORKDIR)} || exit 126`];
  for (const [name, value] of Object.entries(script.env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name)) {
      throw new SubletError('USAGE', `"${name}" cannot be the name of an environment variable.`, { hint: 'Use letters, digits and underscores.' });
    }
    lines.push(`export ${name}=${shellQuote(value)}`);
  }
  lines.push(typeof script.command === 'string' ? script.command : `exec ${shellCommand(script.command)}`);
  return `${lines.join('\n')}\n`;
}

const END = '#sublet-end';
/** The armed shell reads byte by byte; past this size a `cat` is quicker. */
const SMALL = 8 * 1024;

/** The bytes for the armed shell of `slot`. `stdin` connects the slot's input pipe. */
export function armedScript(slot: string, script: string, stdin: boolean): string {
  const head = `${stdin ? `exec <${CHANNEL_DIR}/channel/${slot}.in\n` : ''}set --\n`;
  if (script.length <= SMALL && !script.includes(END)) return `${head}exec 3<&-\nunset sublet_script sublet_line\n${script}${END}\n`;
  return `${head}sublet_script=$(cat <&3)\nexec 3<&-\neval "unset sublet_script sublet_line\n$sublet_script"\n${END}\n${script}`;
}
