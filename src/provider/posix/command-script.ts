/** The script an armed shell is given for one command. Pure. */
import type { Command } from '../../core/commands.ts';
import { type ProcessTag, tagScript } from './process-tree.ts';
import { commandArgv, shellCommand, shellExports, shellQuote } from './shell-quote.ts';

export interface CommandScript {
  readonly command: Command;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly tag: ProcessTag;
}

/** What comes before and with the command, for a shell whose directory may be any. */
export function commandScript(script: CommandScript): string {
  const command =
    typeof script.command === 'string'
      ? shellCommand(script.command)
      : `exec ${commandArgv(script.command).map(shellQuote).join(' ')}`;
  return `${tagScript(script.tag)}\ncd -- ${shellQuote(script.cwd)} || exit 126\n${shellExports(script.env)}${command}\n`;
}

const END = '#sublet-end';

/** What an armed shell does first: it reads a script from descriptor 3. Without the end mark the last line differs from it. */
export const READ_SCRIPT: string = `
sublet_script=
while IFS= read -r sublet_line <&3 && [ "$sublet_line" != "${END}" ]; do
  sublet_script="$sublet_script$sublet_line
"
done
`;

/** The armed shell reads byte by byte; past this size one program that reads it at once is quicker. */
const SMALL_BYTES = 8 * 1024;

/** The bytes for an armed shell. With `stdin`, what follows them on the same pipe is the command's standard input. */
export function armedScript(script: string, stdin: boolean): string {
  const input = stdin ? 'exec <&3 3<&-' : 'exec 3<&-';
  const bytes = Buffer.byteLength(script);
  if (bytes <= SMALL_BYTES && !script.includes(END))
    return `set --\n${input}\nunset sublet_script sublet_line\n${script}${END}\n`;
  return `set --\nsublet_script=$(head -c ${bytes} <&3)\n${input}\neval "unset sublet_script sublet_line\n$sublet_script"\n${END}\n${script}`;
}
