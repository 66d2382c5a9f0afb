/** A script as one command line that both kinds of Daytona server take. Pure. */

/** A server applies a time-out of its own where none is given. Ours are kept by ending the program. */
export const MAX_EXEC_SECONDS: number = 24 * 3600;

const SPECIAL: Readonly<Record<string, string>> = {
  "'": '\\0047',
  '"': '\\0042',
  $: '\\0044',
  '`': '\\0140',
  '\\': '\\0134',
};

/**
 * Newer servers give the line to a shell; older ones split it at spaces and quotes themselves and know no escapes. So the
 * script is between single quotes and has none: what either would take for its own is written for `printf %b`.
 */
export function shellWords(script: string): string {
  const encoded = script.replaceAll(/['"$`\\]/g, (character) => SPECIAL[character] ?? character);
  return `sh -c 'eval "$(printf %b "${encoded}")"'`;
}
