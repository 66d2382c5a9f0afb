/** JSON whose errors say the line and the column, and never quote the text: it may hold keys. */
import { invalidConfig } from './problems.ts';

/** CONFIG_INVALID when `text` is not JSON. */
export function parseJson(text: string, source: string, hint?: string): unknown {
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text;
  try {
    return JSON.parse(body);
  } catch {
    const { offset, message } = findSyntaxError(body);
    const before = body.slice(0, offset).split('\n');
    const column = (before.at(-1)?.length ?? 0) + 1;
    throw invalidConfig(source, [{ path: '', message: `line ${before.length}, column ${column}: ${message}` }], hint);
  }
}

class SyntaxFault extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

// JSON.parse decides what is valid; the scanner only finds where it stopped being so.
function findSyntaxError(text: string): { offset: number; message: string } {
  try {
    const end = skipSpace(text, scanValue(text, skipSpace(text, 0)));
    return { offset: end, message: 'nothing may follow the closing bracket' };
  } catch (fault) {
    if (fault instanceof SyntaxFault) return { offset: fault.offset, message: fault.message };
    // Nesting too deep to scan.
    return { offset: 0, message: 'not JSON' };
  }
}

const SPACE = /[ \t\r\n]*/y;
// oxlint-disable-next-line no-control-regex -- JSON forbids them in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function scanValue(text: string, start: number): number {
  const open = text[start];
  if (open === '{') return scanItems(text, start, '}', scanMember);
  if (open === '[') return scanItems(text, start, ']', scanValue);
  if (open === '"') return scanString(text, start);
  const end = matchAt(SCALAR, text, start);
  if (end === undefined) throw new SyntaxFault(start, describe(text, start, 'a value is expected'));
  return end;
}

function scanItems(text: string, start: number, close: string, scanItem: (text: string, at: number) => number): number {
  let at = skipSpace(text, start + 1);
  if (text[at] === close) return at + 1;
  for (;;) {
    at = skipSpace(text, scanItem(text, at));
    if (text[at] === close) return at + 1;
    if (text[at] !== ',') throw new SyntaxFault(at, describe(text, at, `"," or "${close}" is expected`));
    const comma = at;
    at = skipSpace(text, at + 1);
    if (text[at] === close) throw new SyntaxFault(comma, `no comma may stand before "${close}"`);
  }
}

function scanMember(text: string, start: number): number {
  if (text[start] !== '"') throw new SyntaxFault(start, describe(text, start, 'a name in double quotes is expected'));
  const colon = skipSpace(text, scanString(text, start));
  if (text[colon] !== ':') throw new SyntaxFault(colon, describe(text, colon, '":" is expected'));
  return scanValue(text, skipSpace(text, colon + 1));
}

function scanString(text: string, start: number): number {
  const end = matchAt(STRING, text, start);
  if (end === undefined) throw new SyntaxFault(start, 'this text does not end on its line, or has a bad escape');
  return end;
}

function skipSpace(text: string, at: number): number {
  return matchAt(SPACE, text, at) ?? at;
}

function matchAt(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function describe(text: string, at: number, expected: string): string {
  if (at >= text.length) return `the file ends where ${expected}`;
  return text.startsWith('//', at) || text.startsWith('/*', at) ? 'JSON has no comments' : expected;
}
