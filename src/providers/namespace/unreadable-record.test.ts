/** A record that cannot be read says nothing about its sandbox, least of all that there is none. */
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { SandboxProvider, SandboxSpec } from '../../provider/provider.ts';
import { provider as module } from './index.ts';
import { sandboxPaths, type SandboxPaths } from './layout.ts';
import { readRecord } from './sandbox-record.ts';
import { isUp } from './sandbox-state.ts';

const usable = await requirement('namespace');
const spec: SandboxSpec = { name: 'box', labels: {}, kind: 'execution', network: 'none', ephemeral: false };
const warned: unknown[] = [];

let stateDir = '';
let maker: SandboxProvider;
let other: SandboxProvider;
let paths: SandboxPaths;

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'sublet-unreadable-'));
  paths = sandboxPaths(stateDir, spec.name);
  const log = { debug() {}, info() {}, warn: (fields: unknown) => void warned.push(fields) };
  const open = async (): Promise<SandboxProvider> =>
    module.open({ stateDir, clock: systemClock, log, options: {}, secret: () => undefined });
  [maker, other] = [await open(), await open()];
});

afterAll(async () => {
  await Promise.all([maker.close(), other.close()]);
  await rm(stateDir, { recursive: true, force: true, maxRetries: 5 });
});

describe.runIf(usable)('a sandbox whose record cannot be read', () => {
  it('is left as it is, and is told to be in doubt', async ({ signal }) => {
    const { ref } = await maker.create(spec, signal);
    const record = await readFile(paths.record, 'utf8');
    const made = await readRecord(stateDir, spec.name);
    await writeFile(paths.record, record.slice(0, 50));
    await utimes(paths.dir, 0, 0);
    const doubt = { code: 'PROVIDER_UNAVAILABLE', message: expect.stringContaining(paths.record) as string };
    try {
      const listed = [];
      for await (const each of other.list({}, signal)) listed.push(each);
      expect([listed, warned]).toEqual([[], [expect.objectContaining({ name: spec.name })]]);
      await expect(other.destroy(ref, signal)).rejects.toMatchObject(doubt);
      await expect(other.attach(ref, signal)).rejects.toMatchObject(doubt);
      await expect(other.create(spec, signal)).rejects.toMatchObject(doubt);
      expect(made && (await isUp(made))).toBe(true);
      expect(await readdir(paths.disk)).toEqual(['home', 'tmp', 'workspace']);
    } finally {
      await writeFile(paths.record, record);
    }
    await other.destroy(ref, signal);
    expect([made && (await isUp(made)), await readdir(join(stateDir, 'sandboxes'))]).toEqual([false, []]);
  });
});
