/** Where an engine may be, in the order in which users expect it to be looked for. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { SubletError } from '../../core/errors.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import { type EngineEndpoint, parseEndpoint, type TlsFiles } from './engine-endpoint.ts';

export interface EngineCandidate {
  /** Who says so. */
  readonly source: string;
  readonly endpoint: EngineEndpoint;
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

export function surroundingsOf({ env = process.env }: { readonly env?: ProviderContext['env'] }): Surroundings {
  return { env, home: env['HOME'] ?? homedir() };
}

/** Where the docker program keeps its settings. */
export function configDirOf({ env, home }: Surroundings): string {
  return env['DOCKER_CONFIG'] ?? join(home, '.docker');
}

/** One when somebody has named it: a profile, DOCKER_HOST, the Docker context. Else the usual sockets. */
export async function engineCandidates(
  host: string | undefined,
  surroundings: Surroundings,
): Promise<readonly EngineCandidate[]> {
  const { env, home } = surroundings;
  if (host !== undefined && host !== '')
    return [{ source: 'the profile', endpoint: parseEndpoint(host, envTls(env, home)) }];
  const fromEnv = env['DOCKER_HOST'];
  if (fromEnv !== undefined && fromEnv !== '') {
    return [{ source: 'DOCKER_HOST', endpoint: parseEndpoint(fromEnv, envTls(env, home)) }];
  }
  const configDir = configDirOf(surroundings);
  const context = env['DOCKER_CONTEXT'] ?? (await currentContext(configDir));
  if (context !== undefined && context !== '' && context !== 'default')
    return [await contextCandidate(configDir, context)];
  return usualSockets(env, home);
}

function usualSockets(env: Surroundings['env'], home: string): EngineCandidate[] {
  const runtimeDir = env['XDG_RUNTIME_DIR'];
  const sockets: readonly (readonly [string, string | undefined])[] = [
    ['rootless Docker', runtimeDir === undefined ? undefined : join(runtimeDir, 'docker.sock')],
    ['Docker Desktop', join(home, '.docker/run/docker.sock')],
    ['Colima', join(home, '.colima/default/docker.sock')],
    ['Docker', '/var/run/docker.sock'],
    ['rootless Podman', runtimeDir === undefined ? undefined : join(runtimeDir, 'podman/podman.sock')],
    ['Podman', '/run/podman/podman.sock'],
  ];
  return sockets.flatMap(([source, path]) =>
    path === undefined ? [] : [{ source, endpoint: { kind: 'unix', path } }],
  );
}

async function currentContext(configDir: string): Promise<string | undefined> {
  return ((await readJson(join(configDir, 'config.json'))) as { currentContext?: string } | undefined)?.currentContext;
}

async function contextCandidate(configDir: string, name: string): Promise<EngineCandidate> {
  const id = createHash('sha256').update(name).digest('hex');
  const meta = (await readJson(join(configDir, 'contexts/meta', id, 'meta.json'))) as
    | { Endpoints?: { docker?: { Host?: string; SkipTLSVerify?: boolean } } }
    | undefined;
  const endpoint = meta?.Endpoints?.docker;
  if (endpoint?.Host === undefined) {
    throw new SubletError('CONFIG_INVALID', `The Docker context "${name}" is chosen, and does not exist.`, {
      hint: 'List them with docker context ls; choose one with docker context use NAME.',
    });
  }
  const dir = join(configDir, 'contexts/tls', id, 'docker');
  const ca = join(dir, 'ca.pem');
  const hasTls = (await readFile(ca).catch(() => undefined)) !== undefined;
  const tls = {
    caFile: ca,
    certFile: join(dir, 'cert.pem'),
    keyFile: join(dir, 'key.pem'),
    skipVerify: endpoint.SkipTLSVerify === true,
  };
  return { source: `the Docker context "${name}"`, endpoint: parseEndpoint(endpoint.Host, hasTls ? tls : undefined) };
}

/** As the docker program does: DOCKER_TLS_VERIFY turns TLS on, DOCKER_CERT_PATH says with which files. */
function envTls(env: Surroundings['env'], home: string): TlsFiles | undefined {
  const verify = env['DOCKER_TLS_VERIFY'] ?? '';
  if (verify === '') return undefined;
  const dir = env['DOCKER_CERT_PATH'] ?? join(home, '.docker');
  return {
    caFile: join(dir, 'ca.pem'),
    certFile: join(dir, 'cert.pem'),
    keyFile: join(dir, 'key.pem'),
    skipVerify: false,
  };
}

async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
