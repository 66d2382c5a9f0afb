/** Reads the options of a service's adapter once. CONFIG_INVALID for what cannot be. */
import { SubletError } from '../../core/errors.ts';
import type { ProviderContext } from '../define-provider.ts';

export class ServiceOptions {
  readonly #id: string;
  readonly #context: ProviderContext;

  /** `id` is the provider's, for the errors. */
  constructor(id: string, context: ProviderContext) {
    this.#id = id;
    this.#context = context;
  }

  /** AUTH_FAILED without one. */
  key(title: string, variable: string): string {
    const key = this.#context.secret(variable);
    if (key !== undefined && key !== '') return key;
    throw new SubletError('AUTH_FAILED', `There is no key for ${title}.`, {
      hint: `Set ${variable}, or run: sublet config set ${variable}`,
    });
  }

  /** From the profile, else from that variable. */
  text(name: string, variable?: string): string | undefined {
    const value = this.#context.options[name] ?? (variable === undefined ? undefined : this.#context.secret(variable));
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  isTrue(name: string): boolean {
    return this.#context.options[name] === true;
  }

  /** A number of at least `least`, whole unless it says otherwise. */
  number(name: string, { least = 0, isWhole = true } = {}): number | undefined {
    const value = this.#context.options[name];
    if (value === undefined) return undefined;
    if (typeof value === 'number' && value >= least && (isWhole ? Number.isInteger(value) : Number.isFinite(value)))
      return value;
    throw this.invalid(name, value, `Give a ${isWhole ? 'whole ' : ''}number of at least ${least}.`);
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.text(name);
    const choice = choices.find((each) => each === value);
    if (value !== undefined && choice === undefined) throw this.invalid(name, value, `One of ${choices.join(', ')}.`);
    return choice;
  }

  /** Without slashes at its end. */
  url(name: string, variable: string, fallback: string): string {
    const url = this.text(name, variable) ?? fallback;
    if (!/^https?:\/\//.test(url)) throw this.invalid(name, url, `Give a URL, such as ${fallback}.`);
    return url.replace(/\/+$/, '');
  }

  /** An absolute path, without slashes at its end. */
  directory(name: string): string | undefined {
    const path = this.text(name);
    if (path !== undefined && !path.startsWith('/')) throw this.invalid(name, path, 'Give an absolute path.');
    return path?.replace(/(?<=.)\/+$/, '');
  }

  invalid(name: string, value: unknown, hint: string): SubletError {
    return new SubletError('CONFIG_INVALID', `${this.#id}.${name} is ${JSON.stringify(value)}, which cannot be.`, {
      hint,
    });
  }
}
