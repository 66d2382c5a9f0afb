/** Which store is used: the call's, `SUBLET_STORE` of the environment or of `config.env`, or the file in the home. */
import { resolve } from 'node:path';
import { SubletError } from '../core/errors.ts';
import { shownUrl } from '../core/shown-url.ts';
import type { ConfigEnv } from './config-env.ts';
import type { Environment, HomePaths } from './home.ts';
import { Secret } from './secret.ts';
import type { Sourced } from './sourced.ts';

/** As `SUBLET_STORE` and `open({ store })` spell it. */
export type StoreName = 'sqlite' | 'memory' | `sqlite:${string}` | `postgres://${string}` | `postgresql://${string}`;

export type StoreChoice =
  | { readonly kind: 'memory'; readonly shown: string }
  | { readonly kind: 'sqlite'; readonly shown: string; readonly path: string }
  | { readonly kind: 'postgres'; readonly shown: string; readonly url: Secret };

export interface StoreSources {
  readonly call: StoreName | undefined;
  readonly env: Environment;
  readonly readKeys: () => Promise<ConfigEnv>;
  readonly home: HomePaths;
}

const VARIABLE = 'SUBLET_STORE';

/**
 * CONFIG_INVALID for a value that names no store. Other variables fall through with a warning, but what is recorded in the
 * wrong store is found by nobody.
 */
export async function chooseStore({ call, env, readKeys, home }: StoreSources): Promise<Sourced<StoreChoice>> {
  if (call !== undefined) return { value: toChoice(call, 'The store', home), source: 'call' };
  const fromEnv = env[VARIABLE]?.trim();
  if (fromEnv) return { value: toChoice(fromEnv, VARIABLE, home), source: `env ${VARIABLE}` };
  const fromFile = (await readKeys()).get(VARIABLE)?.reveal().trim();
  if (fromFile) return { value: toChoice(fromFile, `${VARIABLE} in config.env`, home), source: 'config.env' };
  return { value: sqlite(home.database), source: 'default' };
}

function toChoice(text: string, what: string, home: HomePaths): StoreChoice {
  if (text === 'memory') return { kind: 'memory', shown: 'memory' };
  if (text === 'sqlite') return sqlite(home.database);
  if (/^sqlite:./.test(text)) return sqlite(resolve(text.slice('sqlite:'.length)));
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) {
    return { kind: 'postgres', shown: shownUrl(new URL(text)), url: new Secret(text) };
  }
  // Without the value: it may hold a password.
  throw new SubletError('CONFIG_INVALID', `${what} names no store.`, {
    hint: 'Use sqlite:<path>, postgres://user:password@host:port/database or memory; escape @ and / in a password as %40 and %2F.',
  });
}

function sqlite(path: string): StoreChoice {
  return { kind: 'sqlite', shown: `sqlite:${path}`, path };
}
