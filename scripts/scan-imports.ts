/** Finds the module specifiers of a TypeScript source, static and dynamic, without parsing it as a whole. */

export interface ImportSite {
  /** undefined for `import(expression)`, which nothing can check. */
  readonly specifier: string | undefined;
  readonly typeOnly: boolean;
  /** Loaded when the code gets there, not with the module. */
  readonly late: boolean;
  readonly line: number;
}

type Token = { readonly kind: 'word' | 'string' | 'punctuation'; readonly text: string; readonly at: number };

/** Comments, strings, templates and regular expressions are skipped, so that an import in a text is not an import. */
export function scanImports(source: string): readonly ImportSite[] {
  const tokens = tokenize(source);
  const sites: ImportSite[] = [];
  for (const [index, token] of tokens.entries()) {
    const previous = tokens[index - 1];
    const next = tokens[index + 1];
    if (token.kind !== 'word' || previous?.text === '.') continue;
    if (token.text === 'import' && next?.text === '(') {
      const argument = tokens[index + 2];
      const typeOnly = previous?.text === ':' || previous?.text === 'typeof';
      const specifier = argument?.kind === 'string' ? argument.text : undefined;
      sites.push({ specifier, typeOnly, late: true, line: lineAt(source, token.at) });
    } else if (token.text === 'import' && next?.kind === 'string') {
      sites.push({ specifier: next.text, typeOnly: false, late: false, line: lineAt(source, token.at) });
    } else if (token.text === 'from' && next?.kind === 'string') {
      const keyword = statementStart(tokens, index);
      if (keyword === undefined) continue;
      const typeOnly = tokens[keyword + 1]?.text === 'type' && tokens[keyword + 2]?.text !== 'from';
      sites.push({ specifier: next.text, typeOnly, late: false, line: lineAt(source, token.at) });
    }
  }
  return sites;
}

/** The `import` or `export` that a `from` belongs to: only names, commas, braces and stars lie between. */
function statementStart(tokens: readonly Token[], from: number): number | undefined {
  for (let index = from - 1; index >= 0; index -= 1) {
    const token = tokens[index];
    if (token === undefined || token.kind === 'string') return undefined;
    if (token.text === 'import' || token.text === 'export') return index;
    if (token.kind === 'punctuation' && !['{', '}', ',', '*'].includes(token.text)) return undefined;
  }
  return undefined;
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length;
}

function tokenize(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < source.length) {
    const rest = source.slice(at, at + 2);
    const char = rest.charAt(0);
    const start = at;
    if (rest === '//') at = indexOrEnd(source, '\n', at);
    else if (rest === '/*') at = indexOrEnd(source, '*/', at + 2) + 2;
    else if (char === "'" || char === '"' || char === '`') {
      at = endOfString(source, at);
      tokens.push({ kind: 'string', text: source.slice(start + 1, at - 1), at: start });
    } else if (char === '/' && startsRegExp(tokens.at(-1))) at = endOfRegExp(source, at);
    else if (/[\w$]/.test(char)) {
      while (at < source.length && /[\w$]/.test(source.charAt(at))) at += 1;
      tokens.push({ kind: 'word', text: source.slice(start, at), at: start });
    } else {
      at += 1;
      if (char.trim() !== '') tokens.push({ kind: 'punctuation', text: char, at: start });
    }
  }
  return tokens;
}

function indexOrEnd(source: string, text: string, from: number): number {
  const index = source.indexOf(text, from);
  return index === -1 ? source.length : index;
}

/** Past the closing quote. A template's `${…}` may hold templates of its own. */
function endOfString(source: string, start: number): number {
  const quote = source.charAt(start);
  let at = start + 1;
  while (at < source.length && source.charAt(at) !== quote) {
    if (source.charAt(at) === '\\') at += 2;
    else if (quote === '`' && source.startsWith('${', at)) at = endOfSubstitution(source, at + 2);
    else at += 1;
  }
  return at + 1;
}

function endOfSubstitution(source: string, start: number): number {
  let depth = 1;
  let at = start;
  while (at < source.length && depth > 0) {
    const char = source.charAt(at);
    if (char === "'" || char === '"' || char === '`') at = endOfString(source, at);
    else {
      if (char === '{') depth += 1;
      if (char === '}') depth -= 1;
      at += 1;
    }
  }
  return at;
}

/** A slash divides after a value and opens a regular expression elsewhere. */
function startsRegExp(previous: Token | undefined): boolean {
  if (previous === undefined) return true;
  if (previous.kind === 'string') return false;
  if (previous.kind === 'word') return ['return', 'typeof', 'case', 'of', 'in', 'await'].includes(previous.text);
  return ![')', ']', '}'].includes(previous.text);
}

function endOfRegExp(source: string, start: number): number {
  let inClass = false;
  let at = start + 1;
  while (at < source.length && source.charAt(at) !== '\n') {
    const char = source.charAt(at);
    if (char === '/' && !inClass) return at + 1;
    if (char === '[') inClass = true;
    if (char === ']') inClass = false;
    at += char === '\\' ? 2 : 1;
  }
  return at;
}
