/** Text as one word of a POSIX shell. */
import type { Command } from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';

const PLAIN_WORD = /^[A-Za-z0-9_./:@%+,-]+$/;

/** USAGE for a NUL byte, which no argument can carry. */
export function shellQuote(text: string): string {
  if (text.includes('\0')) {
    throw new SubletError('USAGE', 'A command, argument, path or variable contains a NUL byte.', {
      hint: 'Pass binary data through stdin or a file.',
    });
  }
  return PLAIN_WORD.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The command as a line for `sh`: a string as it is, an array quoted word by word. */
export function shellCommand(command: Command): string {
  if (typeof command !== 'string') return command.map(quoteWord).join(' ');
  shellQuote(command);
  return command;
}

/** `export` lines that set exactly these variables. USAGE for a name that `sh` cannot hold. */
export function shellExports(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
        throw new SubletError('USAGE', `"${name}" is not a name of an environment variable.`, {
          hint: 'Names are letters, digits and underscores, and do not start with a digit.',
        });
      }
      return `export ${name}=${shellQuote(value)}\n`;
    })
    .join('');
}

/** The argv that runs the command: a string through `sh -c`, an array as it is. USAGE when there is nothing to run. */
export function commandArgv(command: Command, shell = 'sh'): readonly [string, ...string[]] {
  if (typeof command === 'string') return [shell, '-c', shellCommand(command)];
  const [file, ...args] = command;
  if (file === undefined || file === '') {
    throw new SubletError('USAGE', 'The command is empty.', {
      hint: 'Give a string for the shell, or an array whose first element is a program.',
    });
  }
  shellCommand(command);
  return [file, ...args];
}

// A first word such as `a=b` or `if` is a program's name here, never an assignment or a keyword.
function quoteWord(word: string, index: number): string {
  const quoted = shellQuote(word);
  return index === 0 && quoted === word && /^[a-z!{}]+$|=/.test(word) ? `'${word}'` : quoted;
}
