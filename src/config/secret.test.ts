import { format, inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret } from './secret.ts';

const secret = new Secret('hunter2');
// Where the compiler would stop this, it does not look.
const asText = secret as unknown as string;

describe('Secret', () => {
  it('gives its value only when asked for it', () => {
    expect(secret.reveal()).toBe('hunter2');
  });

  it.each([
    ['a template', `${asText}`],
    ['String()', String(secret)],
    ['concatenation', '' + asText],
    ['JSON', JSON.stringify({ secret })],
    ['inspect', inspect({ deep: [{ secret }] }, { depth: 9, showHidden: true })],
    ['format %s', format('%s', secret)],
    ['format %o', format('%o', secret)],
    ['format %j', format('%j', secret)],
    ['its keys', inspect(Object.entries(secret))],
    ['an error message', new Error(`bad ${asText}`).message],
  ])('prints as *** or not at all in %s', (_form, printed) => {
    expect(printed).not.toContain('hunter2');
  });

  it('is lost, not shown, in a structured clone', () => {
    expect(inspect(structuredClone(secret), { showHidden: true })).not.toContain('hunter2');
  });
});
