/** One side of a copy: a path here, a path in a sandbox, or a stream. */

export type Location =
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'sandbox'; readonly id: string; readonly path: string }
  | { readonly kind: 'stream' };

/** `ID:path` is in a sandbox; a path with a slash before its first colon is here, so `./a:b` is a file. */
export function parseLocation(text: string): Location {
  if (text === '-') return { kind: 'stream' };
  const [, id, path] = /^([^/:]+):(.*)$/s.exec(text) ?? [];
  if (id === undefined) return { kind: 'local', path: text };
  return { kind: 'sandbox', id, path: path || '.' };
}
