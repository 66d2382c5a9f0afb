import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { applyMutant } from './apply-mutant.ts';
import { MUTANTS } from './mutants.ts';

const ROOT = path.join(import.meta.dirname, '../..');

describe('every mutant', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('still applies: %s', (_name, mutant) => {
    const mutated = applyMutant(mutant, (file) => readFileSync(path.join(ROOT, file), 'utf8'));
    for (const [file, text] of mutated) expect(text).not.toBe(readFileSync(path.join(ROOT, file), 'utf8'));
  });

  it('has a name of its own', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });
});
