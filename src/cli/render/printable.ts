/** Text from a sandbox or a file name, safe to show: control characters cannot drive the terminal. */

/** Line breaks and tabs become spaces; every other control character becomes visible. */
export function printable(text: string): string {
  return visible(text.replaceAll(/[\n\r\t]+/g, ' '));
}

/** As `printable`, with line breaks kept. */
export function printableLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}

function visible(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}
