/** A machine that has no namespaces: what its user is told. The command line runs here and takes itself to be there. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { automaticProvider } from '../../src/automatic-provider.ts';
import { type CliResult, Installation } from './installation.ts';

const PLATFORMS = ['darwin', 'win32'] as const;

let sublet: Installation;

beforeAll(async () => {
  sublet = await Installation.create();
});

afterAll(() => sublet.remove());

/** The native part of SQLite has to be this machine's. */
const preloadFor = (platform: string): string => `
const here = process.platform;
const { dlopen } = process;
process.dlopen = (module, file, ...rest) =>
  dlopen.call(process, module, file.replace('prebuilds/${platform}-', 'prebuilds/' + here + '-'), ...rest);
Object.defineProperty(process, 'platform', { value: '${platform}' });
`;

async function runOn(platform: string, args: readonly string[]): Promise<CliResult> {
  const preload = path.join(sublet.files, `${platform}.cjs`);
  await writeFile(preload, preloadFor(platform));
  // An engine of this machine must not be taken for one of that.
  const env = { NODE_OPTIONS: `--require=${preload}`, DOCKER_HOST: `unix://${sublet.files}/no-engine.sock` };
  return sublet.run(args, { env });
}

describe.each(PLATFORMS)('on %s', (platform) => {
  it('a run without a named sandbox looks for an engine, and says what was tried and what to start', async () => {
    const { status, stdout, stderr } = await runOn(platform, ['run', '--', 'echo', 'hello']);
    expect([status === 0, stdout]).toEqual([false, '']);
    expect(stderr).toContain('No Docker-compatible engine can be used');
    expect(stderr).toContain('no-engine.sock: there is no such socket');
    expect(stderr).toContain('Start Docker');
    expect(stderr).not.toMatch(/\n\s+at /u);
  });

  it('a session is refused the same way', async () => {
    const { status, stderr } = await runOn(platform, ['run', '--thread', 'demo', '--', 'true']);
    expect(status).not.toBe(0);
    expect(stderr).toContain('Start Docker');
  });

  it('naming the embedded provider says what it needs', async () => {
    const { status, stderr } = await runOn(platform, ['run', '--sandbox', 'namespace', '--', 'true']);
    expect(status).not.toBe(0);
    expect(stderr).toContain('Namespaces are a feature of Linux');
    expect(stderr).toContain('--sandbox docker');
  });

  it('doctor says the same and what to do', async () => {
    const { stdout } = await runOn(platform, ['doctor']);
    expect(stdout).toContain('Namespaces are a feature of Linux');
    expect(stdout).toContain('--sandbox docker');
  });

  it('what needs no sandbox works', async () => {
    expect((await runOn(platform, ['ls'])).status).toBe(0);
    expect((await runOn(platform, ['providers'])).stdout).toContain('namespace');
  });

  it('the library chooses Docker', () => {
    expect(automaticProvider(platform)).toBe('docker');
  });
});
