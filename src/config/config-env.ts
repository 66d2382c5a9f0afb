/** `config.env`: keys as `NAME=value` lines, readable by the owner only. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { SubletError } from '../core/errors.ts';
import { ensureHome, type HomePaths } from './home.ts';
import { isMissing, isOpenToOthers, unreadableError, writePrivateFile } from './private-file.ts';
import { variableName, variableValue } from './rules.ts';
import { Secret } from './secret.ts';

export type ConfigEnv = ReadonlyMap<string, Secret>;

// With `s`, because a value may hold U+2028, which the dot else takes for the end of a line.
const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/s;
const PLAIN = /^[A-Za-z0-9_.:/+=@,-]*$/;

/** What the file holds; nothing when there is no file. Warns when others can read it and about lines it cannot read. */
export async function readConfigEnv(paths: HomePaths, warn: (message: string) => void): Promise<ConfigEnv> {
  const fd = openIfThere(paths.configEnv);
  if (fd === undefined) return new Map();
  try {
    const { mode } = fstatSync(fd);
    if (isOpenToOthers(mode)) warn(`${paths.configEnv} can be read by other users. Run: chmod 600 ${paths.configEnv}`);
    return parseConfigEnv(readFileSync(fd, 'utf8'), (line) =>
      warn(`${paths.configEnv} line ${line} is not NAME=value and is ignored.`),
    );
  } finally {
    closeSync(fd);
  }
}

// At once, here and for profiles: a few lines of the user's own, which another thread would take longer to be asked for.
function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw unreadableError(path, cause);
  }
}

/** Quotes, comments and an `export` prefix are understood; `onBadLine` gets the number of a line that is none of these. */
export function parseConfigEnv(text: string, onBadLine: (line: number) => void = () => {}): ConfigEnv {
  const values = new Map<string, Secret>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const match = LINE.exec(line);
    const value = match === null ? undefined : unquote(match[2] ?? '');
    if (match?.[1] === undefined || value === undefined) onBadLine(index + 1);
    else values.set(match[1], new Secret(value));
  }
  return values;
}

/** Sets a key, or removes it when there is no value. Every other line stays as it is. */
export async function setConfigEnv(paths: HomePaths, name: string, value: string | undefined): Promise<void> {
  const problem = variableName(name) ?? (value === undefined ? undefined : variableValue(value));
  if (problem !== undefined) {
    throw new SubletError('USAGE', `"${name}" cannot be set: it ${problem}.`, {
      hint: 'A name is letters, digits and underscores: E2B_API_KEY.',
    });
  }
  await ensureHome(paths);
  const { aloneWithFile } = await import('./alone-with-file.ts');
  await aloneWithFile(paths.configEnv, async () => {
    const text = await readFile(paths.configEnv, 'utf8').catch((cause: unknown) => {
      if (isMissing(cause)) return '';
      throw unreadableError(paths.configEnv, cause);
    });
    await writePrivateFile(paths.configEnv, withKey(text, name, value));
  });
}

// The last assignment counts when there are several, so all of them go and one takes the place of the first.
function withKey(text: string, name: string, value: string | undefined): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const isAssignment = (line: string): boolean => !/^\s*#/.test(line) && LINE.exec(line)?.[1] === name;
  const first = lines.findIndex(isAssignment);
  const kept = lines.filter((line) => !isAssignment(line));
  if (value !== undefined) kept.splice(first === -1 ? kept.length : first, 0, `${name}=${quote(value)}`);
  return kept.length === 0 ? '' : `${kept.join('\n')}\n`;
}

// Single quotes where they do, so that a shell that sources the file expands nothing.
function quote(value: string): string {
  if (PLAIN.test(value)) return value;
  if (!/['\r\n]/.test(value)) return `'${value}'`;
  const escaped = value
    .replace(/["\\$`]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r');
  return `"${escaped}"`;
}

function unquote(text: string): string | undefined {
  if (text.startsWith("'")) return /^'([^']*)'(?:\s+#.*|\s*)$/s.exec(text)?.[1];
  if (!text.startsWith('"')) return text.startsWith('#') ? '' : text.replace(/\s+#.*$/s, '');
  const inner = /^"((?:[^"\\]|\\.)*)"(?:\s+#.*|\s*)$/s.exec(text)?.[1];
  return inner?.replace(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter);
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
