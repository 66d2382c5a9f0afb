/** What a call was given, before anything is made: an option that nobody reads is a mistake of whoever wrote it. */
import { SubletError } from '../core/errors.ts';
import { didYouMean } from '../core/nearest.ts';

/** Says what is wrong with a value, or undefined. */
export type Rule = (value: unknown) => string | undefined;

/** One for each option there is, so that a new one is not forgotten. */
export type Rules<O> = Readonly<Record<keyof O, Rule>>;

/** USAGE with every problem. Costs a look at each option that is there: it is on the way to a live session. */
export function checkCall<O extends object>(
  call: string,
  options: O | undefined,
  rules: Rules<O>,
  ...others: readonly (readonly [name: string, problem: string | undefined])[]
): void {
  let problems: string[] | undefined;
  for (const [name, problem] of others) if (problem !== undefined) (problems ??= []).push(`${name}: ${problem}`);
  if (options !== undefined) {
    const found = optionProblems(options, rules);
    if (found !== undefined) problems = [...(problems ?? []), ...found];
  }
  if (problems === undefined) return;
  const names = Object.keys(rules);
  throw new SubletError(
    'USAGE',
    `The call of ${call} is not valid:\n${problems.map((line) => `  ${line}`).join('\n')}`,
    {
      details: { call, problems },
      hint: names.length === 0 ? undefined : `Options of ${call}: ${names.join(', ')}.`,
    },
  );
}

/** An object within the options. */
export const objectOf =
  <O>(rules: Rules<O>): Rule =>
  (value) =>
    optionProblems(value, rules)?.join('; ');

function optionProblems(options: unknown, rules: Readonly<Record<string, Rule>>): string[] | undefined {
  if (typeof options !== 'object' || options === null) return ['options: must be an object'];
  let problems: string[] | undefined;
  for (const key in options) {
    const value = (options as Readonly<Record<string, unknown>>)[key];
    if (value === undefined) continue;
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    const problem = rule === undefined ? `unknown option${didYouMean(key, Object.keys(rules))}` : rule(value);
    if (problem !== undefined) (problems ??= []).push(`${key}: ${problem}`);
  }
  return problems;
}
