/** Fetches an image that the engine does not have, and tells how far it is. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SubletError, toSubletError } from '../../core/errors.ts';
import type { DockerApi } from './docker-api.ts';

interface Progress {
  readonly id?: string;
  readonly status?: string;
  readonly error?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

/** `configDir` has the logins. CREATE_FAILED with the image's name when it cannot be had. */
export async function pullImage(
  api: DockerApi,
  image: string,
  configDir: string,
  onProgress: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const reference = withTag(image);
  onProgress(`Pulling the image ${image}.`);
  try {
    const answer = await api.pull(reference, await registryAuth(reference, configDir), signal);
    const abort = (): void => void answer.destroy();
    signal.addEventListener('abort', abort, { once: true });
    const layers = new Layers(image, onProgress);
    for await (const line of createInterface({ input: answer })) layers.take(JSON.parse(line) as Progress);
    signal.removeEventListener('abort', abort);
    signal.throwIfAborted();
  } catch (cause) {
    const error = toSubletError(cause, 'PROVIDER_UNAVAILABLE', signal);
    if (error.code === 'ABORTED' || error.code === 'QUOTA_EXCEEDED') throw error;
    throw new SubletError('CREATE_FAILED', `The image ${image} is not there and cannot be pulled: ${error.message}`, {
      cause,
      details: { image },
      hint: `Check the name; try docker pull ${image}; for a private registry, docker login first.`,
    });
  }
}

/** Adds up the layers, and speaks when a tenth more is there. */
class Layers {
  readonly #image: string;
  readonly #tell: (message: string) => void;
  readonly #bytes = new Map<string, { readonly current: number; readonly total: number }>();
  #told = 0;

  constructor(image: string, tell: (message: string) => void) {
    this.#image = image;
    this.#tell = tell;
  }

  take({ id, status, error, progressDetail }: Progress): void {
    if (error !== undefined) throw new SubletError('PROVIDER_UNAVAILABLE', error);
    if (id === undefined || status !== 'Downloading' || progressDetail?.total === undefined) return;
    this.#bytes.set(id, { current: progressDetail.current ?? 0, total: progressDetail.total });
    const sums = [...this.#bytes.values()].reduce(
      (sum, each) => [sum[0] + each.current, sum[1] + each.total] as const,
      [0, 0] as readonly [number, number],
    );
    const tenth = Math.floor((10 * sums[0]) / Math.max(1, sums[1]));
    if (tenth <= this.#told) return;
    this.#told = tenth;
    this.#tell(`Pulling the image ${this.#image}: ${tenth * 10} % of ${Math.ceil(sums[1] / 1_000_000)} MB.`);
  }
}

/** Without a tag or digest the engine would fetch every tag there is. */
export function withTag(image: string): string {
  return image.includes('@') || /:[^/]+$/.test(image) ? image : `${image}:latest`;
}

/** What docker login has stored as text. Logins kept by a credential program are for the docker program to use. */
async function registryAuth(reference: string, configDir: string): Promise<string | undefined> {
  const text = await readFile(join(configDir, 'config.json'), 'utf8').catch(() => '{}');
  const registry = registryOf(reference);
  try {
    const { auths = {} } = JSON.parse(text) as { auths?: Readonly<Record<string, { readonly auth?: string }>> };
    const encoded = (auths[registry] ?? auths[`https://${registry}`] ?? auths[`https://${registry}/v1/`])?.auth;
    if (encoded === undefined) return undefined;
    const [username = '', ...password] = Buffer.from(encoded, 'base64').toString().split(':');
    const login = { username, password: password.join(':'), serveraddress: registry };
    return Buffer.from(JSON.stringify(login)).toString('base64url');
  } catch {
    return undefined;
  }
}

function registryOf(reference: string): string {
  const [first = '', ...rest] = reference.split('/');
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : 'index.docker.io';
}
