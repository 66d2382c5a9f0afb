/** Policy from variables: the provider's own, then `SUBLET_SANDBOX_…`, then `DEEPAGENTS_SANDBOX_…`. */
import type { Environment } from './home.ts';
import { createSeconds, image, minutes, type Rule } from './rules.ts';
import type { Sourced } from './sourced.ts';

export const ENV_SUFFIXES = {
  autoStopMinutes: 'AUTO_STOP_MINUTES',
  autoStopMinMinutes: 'AUTO_STOP_MIN_MINUTES',
  autoStopMaxMinutes: 'AUTO_STOP_MAX_MINUTES',
  autoDeleteMinutes: 'AUTO_DELETE_MINUTES',
  timeoutSeconds: 'TIMEOUT_SECONDS',
  image: 'IMAGE',
} as const;

export type NumberField = Exclude<keyof typeof ENV_SUFFIXES, 'image'>;

const NUMBER_RULES: Readonly<Record<NumberField, Rule>> = {
  autoStopMinutes: minutes,
  autoStopMinMinutes: minutes,
  autoStopMaxMinutes: minutes,
  autoDeleteMinutes: minutes,
  timeoutSeconds: createSeconds,
};

export class EnvValues {
  readonly #env: Environment;
  readonly #warn: (message: string) => void;
  readonly #names = new Map<string, readonly string[]>();

  constructor(env: Environment, warn: (message: string) => void) {
    this.#env = env;
    this.#warn = warn;
  }

  number(provider: string, field: NumberField): Sourced<number> | undefined {
    return this.#first(provider, ENV_SUFFIXES[field], toNumber, NUMBER_RULES[field]);
  }

  image(provider: string): Sourced<string> | undefined {
    return this.#first(provider, ENV_SUFFIXES.image, (text) => text, image);
  }

  // An empty variable is an unset one: compose files and CI systems set those.
  #first<T>(provider: string, suffix: string, convert: (text: string) => T, rule: Rule): Sourced<T> | undefined {
    for (const name of this.#namesFor(provider, suffix)) {
      const text = this.#env[name]?.trim();
      if (text === undefined || text === '') continue;
      const value = convert(text);
      const problem = rule(value);
      if (problem === undefined) return { value, source: `env ${name}` };
      this.#warn(`${name} is ignored: it ${problem}.`);
    }
    return undefined;
  }

  #namesFor(provider: string, suffix: string): readonly string[] {
    const key = `${provider} ${suffix}`;
    let names = this.#names.get(key);
    if (names === undefined) {
      const own = provider.toUpperCase().replace(/[^A-Z0-9]/g, '_');
      names = [own, 'SUBLET', 'DEEPAGENTS'].map((prefix) => `${prefix}_SANDBOX_${suffix}`);
      this.#names.set(key, names);
    }
    return names;
  }
}

// Number() also takes '0x10' and '1e3', which nobody means as minutes.
function toNumber(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}
