/** Services on loopback whose sandboxes the killed processes use: what such a run needs besides the provider. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ProviderContext } from 'sublet/provider';
import { startPrivateEngine } from '../setup/private-engine.ts';
import { API_KEY, startDaytonaService } from '../../src/providers/daytona/daytona-service.fixture.ts';
import { startE2bService } from '../../src/server/e2b/e2b-service.fixture.ts';

export interface CrashService {
  /** How the provider is opened to look at what the service has. */
  readonly access: Pick<ProviderContext, 'options' | 'secret'>;
  readonly env: Readonly<Record<string, string>>;
  /** What the service has that nobody ought to have left, and what it lacks that was never ours to touch. */
  faults(): Promise<readonly string[]>;
  close(): Promise<void>;
  /** Where what they do takes longer than on this machine alone. */
  readonly longestLifeMs?: number;
}

/** By the provider that speaks to it. Makes the profile of that name in the home. */
export const SERVICES: Readonly<Record<string, (home: string) => Promise<CrashService>>> = {
  daytona: startDaytona,
  docker: startDocker,
  e2b: startE2b,
};

/** An engine of its own, so that whatever it has in the end is what was left. */
async function startDocker(home: string): Promise<CrashService> {
  const engine = await startPrivateEngine();
  const options = { host: engine.host };
  await writeProfile(home, 'docker', { provider: 'docker', image: engine.image, docker: options });
  await engine.docker('run', '--detach', '--network', 'none', '--name', 'foreign', engine.image, 'sleep', '100000');
  return {
    access: { options, secret: () => undefined },
    env: {},
    longestLifeMs: 5_000,
    async faults() {
      const left = (await engine.remains()).filter((what) => what !== 'container foreign');
      const foreign = await engine.docker('ps', '--quiet', '--filter', 'name=foreign');
      return [
        ...left.map((what) => `the engine has ${what}`),
        ...(foreign === '' ? ["somebody else's container does not run"] : []),
      ];
    },
    close: async () => engine[Symbol.asyncDispose](),
  };
}

async function startDaytona(home: string): Promise<CrashService> {
  const { server, close } = await startDaytonaService();
  const options = { apiUrl: `${server.url}/api`, target: 'eu', cwd: '/workspace' };
  await writeProfile(home, 'daytona', { provider: 'daytona', daytona: options });
  const foreign = await server.sandboxes.create({ name: 'foreign', labels: { somebody: 'else' } });
  await foreign.handle.files.write('marker', 'mine');
  return {
    access: { options, secret: (name) => (name === 'DAYTONA_API_KEY' ? API_KEY : undefined) },
    env: { DAYTONA_API_KEY: API_KEY },
    // Its SDK alone takes longer to load than others live.
    longestLifeMs: 5_000,
    async faults() {
      const left = server.sandboxes.all().filter(({ id }) => id !== foreign.id);
      const marker = await foreign.handle.files.readText('marker').catch((cause: unknown) => String(cause));
      return [
        ...left.map(({ name, state }) => `the service has ${name}, ${state}`),
        ...(marker === 'mine' ? [] : [`somebody else's sandbox was touched: ${marker}`]),
      ];
    },
    close,
  };
}

async function startE2b(home: string): Promise<CrashService> {
  const { Sandbox } = await import('e2b');
  const { url, apiKey, server, close } = await startE2bService();
  const options = { apiUrl: url, sandboxUrl: url, cwd: '/workspace' };
  await writeProfile(home, 'e2b', { provider: 'e2b', e2b: options });
  const foreign = await Sandbox.create({ apiUrl: url, sandboxUrl: url, apiKey, metadata: { somebody: 'else' } });
  await foreign.files.write('/tmp/marker', 'mine');
  return {
    access: { options, secret: () => apiKey },
    env: { E2B_API_KEY: apiKey },
    // Most of a short life would go into loading the client.
    longestLifeMs: 4_000,
    async faults() {
      const left = server.sandboxes.all().filter(({ facts }) => facts.id !== foreign.sandboxId);
      const marker = await foreign.files.read('/tmp/marker').catch((cause: unknown) => String(cause));
      return [
        ...left.map(({ facts, state }) => `the service has ${facts.metadata['sublet.name'] ?? facts.id}, ${state}`),
        ...(marker === 'mine' ? [] : [`somebody else's sandbox was touched: ${marker}`]),
      ];
    },
    close,
  };
}

async function writeProfile(home: string, name: string, profile: object): Promise<void> {
  const directory = path.join(home, 'sandboxes');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(path.join(directory, `${name}.json`), JSON.stringify(profile), { mode: 0o600 });
}
