/** However large a working directory is, the process that moves it stays small. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { compileFixture } from '../crash/compile-fixtures.ts';
import { requirement } from '../setup/requirements.ts';

const run = promisify(execFile);
const LIBRARY = pathToFileURL(path.resolve(import.meta.dirname, '../../dist/index.js')).href;
const BYTES = 200 * 2 ** 20;
const MOST_GROWN = 80 * 2 ** 20;

describe.runIf(await requirement('namespace'))('a large working directory', () => {
  it('goes through without being held in memory', { timeout: 5 * 60_000 }, async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'sublet-large-'));
    try {
      const weigher = await compileFixture(path.join(import.meta.dirname, 'weigher.fixture.ts'), root);
      const env = { PATH: process.env['PATH'], HOME: root, SUBLET_HOME: path.join(root, 'home') };
      const { stdout } = await run(process.execPath, [weigher, LIBRARY, String(BYTES)], { env });
      const { grownBytes, bytes } = JSON.parse(stdout) as { grownBytes: number; bytes: number };
      expect(bytes).toBe(BYTES);
      expect(grownBytes).toBeLessThan(MOST_GROWN);
    } finally {
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
    }
  });
});
