/** A text with a mutant's replacements. */
import type { Mutant } from './mutants.ts';

/** What becomes of each file that the mutant touches. Throws when a text to be replaced is not there exactly once. */
export function applyMutant(
  { name, replacements }: Mutant,
  read: (file: string) => string,
): ReadonlyMap<string, string> {
  const mutated = new Map<string, string>();
  for (const { file, find, replace } of replacements) {
    const parts = (mutated.get(file) ?? read(file)).split(find);
    if (parts.length !== 2) throw new Error(`${name}: found ${parts.length - 1} times in ${file}: ${find}`);
    mutated.set(file, parts.join(replace));
  }
  return mutated;
}
