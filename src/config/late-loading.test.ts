/** zod costs more to load than a whole command may take: it is loaded for a profile file and for nothing else. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const FORBID_ZOD = `
  import { register } from 'node:module';
  const hooks = "export const resolve = (name, context, next) => { if (name === 'zod') throw new Error('zod is loaded'); return next(name, context); }";
  register('data:text/javascript,' + encodeURIComponent(hooks));
`;

const RESOLVE = `
  import { createConfig } from ${JSON.stringify(new URL('config.ts', import.meta.url).href)};
  const config = createConfig({
    providers: { ids: ['namespace'], describe: async (id) => ({ id, options: {}, capabilities: ['network-none'] }) },
    automaticProvider: async () => 'namespace',
  });
  try {
    console.log((await config.resolve({}, { kind: 'execution' })).provider);
  } catch (error) {
    console.log(error.message);
  }
`;

describe('resolving a sandbox', () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'sublet-late-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  async function resolveWithoutZod(): Promise<string> {
    const forbid = `data:text/javascript,${encodeURIComponent(FORBID_ZOD)}`;
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', '--import', forbid, '--input-type=module', '--eval', RESOLVE],
      {
        cwd: new URL('../..', import.meta.url),
        env: { ...process.env, SUBLET_HOME: home, SUBLET_SANDBOX: '' },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    return (await text(child.stdout)).trim();
  }

  it('loads no schema when there is no profile file', async () => {
    expect(await resolveWithoutZod()).toBe('namespace');
  });

  it('loads the schema for a profile file', async () => {
    await mkdir(join(home, 'sandboxes'));
    await writeFile(join(home, 'sandboxes/namespace.json'), '{ "provider": "namespace" }');
    expect(await resolveWithoutZod()).toBe('zod is loaded');
  });
});
