/** Colours by meaning, or none at all. */

export type Colour = 'good' | 'warn' | 'bad' | 'dim' | 'bold';

/** Paints the text, or returns it unchanged where colours are off. */
export type Colours = (colour: Colour, text: string) => string;

const CODES: Readonly<Record<Colour, readonly [open: number, close: number]>> = {
  good: [32, 39],
  warn: [33, 39],
  bad: [31, 39],
  dim: [2, 22],
  bold: [1, 22],
};

export function createColours(enabled: boolean): Colours {
  if (!enabled) return (_, text) => text;
  return (colour, text) => {
    const [open, close] = CODES[colour];
    return `\u001b[${open}m${text}\u001b[${close}m`;
  };
}
