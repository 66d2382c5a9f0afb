/** The version of this package, from its own package.json. */
import { readFile } from 'node:fs/promises';

export async function packageVersion(): Promise<string> {
  // The same distance from `src/cli` and from `dist/cli`.
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
