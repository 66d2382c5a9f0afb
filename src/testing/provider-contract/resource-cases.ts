/** Metrics, limits, volumes and mounts. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outputOf, type ProviderCase } from './provider-case.ts';

const MIB = 1024 * 1024;

export const resourceCases: readonly ProviderCase[] = [
  {
    name: 'metrics are numbers, of a sandbox that is used',
    needs: ['metrics'],
    async run({ create, provider, signal }) {
      const sandbox = await create();
      await outputOf(sandbox, 'head -c 1000000 /dev/zero >file');
      const values = Object.values((await provider.metrics?.(sandbox.ref, signal)) ?? {}).filter(
        (value) => value !== undefined,
      );
      assert.ok(values.length > 0);
      for (const value of values) assert.ok(Number.isFinite(value) && value >= 0, `${value}`);
    },
  },
  {
    name: 'memory is limited',
    needs: ['limit-memory'],
    async run({ create }) {
      const { commands } = await create({ limits: { memoryBytes: 64 * MIB } });
      // One line of 300 MB, which tail must hold as a whole.
      const result = await commands.run('head -c 300000000 /dev/zero | tail -n 1 | wc -c', { timeoutMs: 60_000 });
      assert.notEqual(result.stdout.trim(), '300000000');
    },
  },
  {
    name: 'the number of processes is limited, and the sandbox still answers',
    needs: ['limit-pids'],
    async run({ create }) {
      const { commands } = await create({ limits: { pids: 40 } });
      const result = await commands.run('i=0; while [ $i -lt 100 ]; do sleep 20 & i=$((i+1)); done; echo all', {
        timeoutMs: 10_000,
      });
      assert.ok(result.stderr !== '' || result.exitCode !== 0 || result.timedOut, 'a hundred processes ran');
    },
  },
  {
    name: 'the disk is limited',
    needs: ['limit-disk'],
    async run({ create }) {
      const { commands } = await create({ limits: { diskBytes: 32 * MIB } });
      const result = await commands.run(`head -c ${128 * MIB} /dev/zero >file`);
      assert.notEqual(result.exitCode, 0);
    },
  },
  {
    name: 'a volume outlives the sandbox and comes with its name, and with no other',
    needs: ['volumes'],
    async run({ create, provider, signal }) {
      const contextId = `contract-${crypto.randomUUID()}`;
      const first = await create({ contextId });
      await first.files.write('note', 'from the first');
      await provider.destroy(first.ref, signal);
      const second = await create({ contextId });
      assert.equal(await second.files.readText('note'), 'from the first');
      await second.files.remove('note');
      const other = await create({ contextId: `${contextId}.other` });
      assert.equal(await other.files.exists('note'), false);
    },
  },
  {
    name: 'a mount is readable and, unless asked for, not writable',
    needs: ['mounts'],
    async run({ create }) {
      const source = await mkdtemp(join(tmpdir(), 'sublet-contract-'));
      try {
        await chmod(source, 0o777);
        await writeFile(join(source, 'data'), 'from the host', { mode: 0o666 });
        const { commands, files } = await create({ mounts: [{ source, target: '/mnt/contract' }] });
        assert.equal(await files.readText('/mnt/contract/data'), 'from the host');
        assert.notEqual((await commands.run('echo changed >/mnt/contract/data')).exitCode, 0);
        assert.notEqual((await commands.run('touch /mnt/contract/new')).exitCode, 0);
        assert.equal(await readFile(join(source, 'data'), 'utf8'), 'from the host');
      } finally {
        await rm(source, { recursive: true, force: true });
      }
    },
  },
];
