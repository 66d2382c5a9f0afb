/** The SDK's runtime: one for a home in the whole process, because a home has a lock; one for each use of a server. */
import type * as BoxliteSdk from '@boxlite-ai/boxlite';
import { loadSdk } from '../../provider/load-sdk.ts';
import { type BoxlitePlace, SDK } from './boxlite-config.ts';
import { toBoxliteError } from './boxlite-errors.ts';

export type Runtime = BoxliteSdk.Boxlite;

/** They stay: a runtime that is let go keeps its lock until it is collected, and a second one would be refused. */
const ofHomes = new Map<string, Promise<Runtime>>();

export async function openRuntime(place: BoxlitePlace): Promise<Runtime> {
  if (place.kind === 'server') return connect(place);
  const present = ofHomes.get(place.home) ?? start(place.home);
  ofHomes.set(place.home, present);
  return present.catch((error: unknown) => {
    if (ofHomes.get(place.home) === present) ofHomes.delete(place.home);
    throw error;
  });
}

function load(): Promise<typeof BoxliteSdk> {
  return loadSdk('boxlite', SDK, () => import('@boxlite-ai/boxlite'));
}

async function start(home: string): Promise<Runtime> {
  const { JsBoxlite: Boxlite } = await load();
  try {
    return new Boxlite({ homeDir: home });
  } catch (cause) {
    throw toBoxliteError(cause);
  }
}

async function connect({ url, apiKey, prefix }: Extract<BoxlitePlace, { readonly kind: 'server' }>): Promise<Runtime> {
  const { ApiKeyCredential, BoxliteRestOptions, JsBoxlite: Boxlite } = await load();
  return Boxlite.rest(
    new BoxliteRestOptions({
      url,
      ...(apiKey === undefined || apiKey === '' ? {} : { credential: new ApiKeyCredential(apiKey) }),
      ...(prefix === undefined ? {} : { pathPrefix: prefix }),
    }),
  );
}
