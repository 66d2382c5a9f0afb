/** Snapshots and ports: what leaves a sandbox, and what reaches it. */
import assert from 'node:assert/strict';
import { SubletError } from '../../core/errors.ts';
import { assertExit, assertRejects, outputOf, type ProviderCase } from './provider-case.ts';

export const reachCases: readonly ProviderCase[] = [
  {
    name: 'a snapshot is an image with the files of its sandbox, which goes on',
    needs: ['snapshot'],
    async run({ create, provider, signal }) {
      const sandbox = await create();
      // Outside the working directory too, where whoever runs commands may write.
      const home = (await outputOf(sandbox, 'cd && pwd && echo installed >contract-note')).trim();
      assertExit(await sandbox.commands.run('echo kept >note'), 0);
      const taken = await provider.snapshot?.(sandbox.ref, signal);
      assert.ok(taken !== undefined && taken.image !== '');
      await sandbox.files.write('note', 'changed later');
      const copy = await create({ image: taken.image });
      assert.equal(await copy.files.readText(`${home}/contract-note`), 'installed\n');
      assert.equal(await copy.files.readText('note'), 'kept\n');
      assert.equal(await sandbox.files.readText('note'), 'changed later');
    },
  },
  {
    name: 'a port has an address, or the refusal says why not',
    needs: ['ports'],
    async run({ create, provider, signal }) {
      const sandbox = await create();
      const url = await provider.portUrl?.(sandbox.ref, 8080, signal).catch((error: unknown) => error);
      if (url instanceof Error) assert.ok(SubletError.is(url, 'UNSUPPORTED') && url.hint !== undefined, String(url));
      else assert.match(new URL(url as string).protocol, /^https?:$/);
      await provider.destroy(sandbox.ref, signal);
      await assertRejects(provider.portUrl?.(sandbox.ref, 8080, signal) ?? Promise.resolve(), 'SANDBOX_NOT_FOUND');
    },
  },
];
