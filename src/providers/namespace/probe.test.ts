import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';

const usable = await requirement('namespace');

let stateDir = '';
beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'sublet-probe-'));
  await chmod(stateDir, 0o777);
});
afterAll(() => rm(stateDir, { recursive: true, force: true }));

/** Tells what the probe and a create say to root of a user namespace that has no other id. */
const TELL = `
  const { provider: module } = await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
  const { systemClock: clock } = await import(${JSON.stringify(join(import.meta.dirname, '../../core/system-clock.ts'))});
  const log = { debug() {}, info() {}, warn() {} };
  const context = { stateDir: process.argv[1], clock, log, options: {}, secret: () => undefined };
  const { usable, findings } = await module.probe(context);
  const provider = await module.open(context);
  const spec = { name: 'box', labels: {}, kind: 'execution', network: 'none', ephemeral: true };
  const error = await provider.create(spec, new AbortController().signal).catch((cause) => cause);
  await provider.close();
  const { message, fix } = findings.find(({ level }) => level === 'fail') ?? {};
  console.log(JSON.stringify({ usable, message, fix, error: { code: error.code, message: error.message, hint: error.hint } }));
`;

describe.runIf(usable)('root of a user namespace without an id for sandboxes', () => {
  it('is told so by the probe and by a create, and what to do', async () => {
    const line = ['--user', '--map-root-user', process.execPath, '--import=tsx', '--input-type=module', '--eval', TELL];
    const { stdout } = await promisify(execFile)('unshare', [...line, stateDir]);
    const told = JSON.parse(stdout) as { usable: boolean; message: string; fix: string; error: unknown };
    expect(told).toMatchObject({ usable: false, message: expect.stringContaining('1879049192') as string });
    expect(told.error).toEqual({ code: 'PROVIDER_UNUSABLE', message: told.message, hint: told.fix });
  });
});
