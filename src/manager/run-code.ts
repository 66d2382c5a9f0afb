/** Runs code in a language: through a file, so that nothing is quoted and the code can read its standard input. */
import type { CodeLanguage } from '../core/api.ts';
import type { CommandResult, Commands, RunOptions } from '../core/commands.ts';
import { SubletError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import { cryptoBytes } from '../core/ids.ts';

interface Interpreters {
  readonly extension: string;
  /** Tried in this order. */
  readonly commands: readonly string[];
}

const INTERPRETERS: Readonly<Record<CodeLanguage, Interpreters>> = {
  python: { extension: 'py', commands: ['python3', 'python'] },
  javascript: { extension: 'mjs', commands: ['node', 'bun', 'deno run'] },
  bash: { extension: 'sh', commands: ['bash'] },
};

/** INTERPRETER_MISSING when none is in the sandbox. */
export async function runCode(
  sandbox: { readonly commands: Commands; readonly files: Files },
  language: CodeLanguage,
  code: string,
  options: RunOptions = {},
): Promise<CommandResult> {
  const interpreters = INTERPRETERS[language];
  if (interpreters === undefined) throw unknownLanguage(language);
  const token = Buffer.from(cryptoBytes(12)).toString('hex');
  const path = `/tmp/sublet-${token}.${interpreters.extension}`;
  await sandbox.files.write(path, code, { signal: options.signal });
  try {
    const result = await sandbox.commands.run(firstOf(interpreters.commands, path, token), options);
    if (result.exitCode === 127 && result.stderr.includes(missingMark(token))) throw missing(language, interpreters);
    return result;
  } finally {
    await sandbox.files.remove(path);
  }
}

// `exec` leaves no shell between the code and its signals, exit status and standard input.
function firstOf(commands: readonly string[], path: string, token: string): string {
  const attempts = commands.map(
    (command) => `command -v ${command.split(' ')[0]} >/dev/null 2>&1 && exec ${command} ${path}`,
  );
  return `${attempts.join('\n')}\necho '${missingMark(token)}' >&2; exit 127`;
}

function missingMark(token: string): string {
  return `no interpreter ${token}`;
}

function missing(language: CodeLanguage, interpreters: Interpreters): SubletError {
  const looked = interpreters.commands.map((command) => command.split(' ')[0]);
  return new SubletError(
    'INTERPRETER_MISSING',
    `The sandbox has no interpreter for ${language}: looked for ${looked.join(', ')}.`,
    {
      details: { language, looked },
      hint: 'Choose an image that has one, or install it in the sandbox.',
    },
  );
}

function unknownLanguage(language: string): SubletError {
  return new SubletError('USAGE', `"${language}" is not a language runCode knows.`, {
    hint: `It knows: ${Object.keys(INTERPRETERS).join(', ')}.`,
  });
}
