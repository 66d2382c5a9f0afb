/** Bytes as text between single quotes that `printf %b` turns back into the same bytes, in every shell. */

const PLAIN = /^[A-Za-z0-9 _.,:;/@%+=!?#$&()<>[\]{}|~^*"`-]$/;

export function encodeForPrintf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => ENCODED[byte]).join('');
}

// Three digits always: what follows may be a digit of the text.
const ENCODED: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return PLAIN.test(character) ? character : `\\0${byte.toString(8).padStart(3, '0')}`;
});
