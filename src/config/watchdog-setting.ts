/** `SUBLET_WATCHDOG`: whether a process that holds sandboxes has one beside it that sees to them when it is killed. */
import type { Environment } from './home.ts';
import type { Sourced } from './sourced.ts';

const NAME = 'SUBLET_WATCHDOG';
const WORDS: Readonly<Record<string, boolean>> = { '0': false, false: false, '1': true, true: true };

/** What does not parse warns and leaves it on: to lose it by a typing error would be found out too late. */
export function watchdogSetting(env: Environment, warn: (message: string) => void): Sourced<boolean> {
  const word = env[NAME]?.trim().toLowerCase() ?? '';
  const value = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (value !== undefined) return { value, source: `env ${NAME}` };
  if (word !== '') warn(`${NAME} is ignored: it must be 0 or 1.`);
  return { value: true, source: 'default' };
}
