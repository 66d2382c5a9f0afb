/** Files: content of any kind and size, kinds, moves, and links that do not lead out. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertRejects, assertSameBytes, collect, outputOf, type ProviderCase } from './provider-case.ts';

const SIXTEEN_MIB = 16 * 1024 * 1024;

export const fileCases: readonly ProviderCase[] = [
  {
    name: 'a missing file is FILE_NOT_FOUND, whoever asks',
    async run({ create }) {
      const { files } = await create();
      await assertRejects(files.read('missing'), 'FILE_NOT_FOUND');
      await assertRejects(files.readText('missing/deeper'), 'FILE_NOT_FOUND');
      await assertRejects(collect(files.readStream('missing')), 'FILE_NOT_FOUND');
      await assertRejects(files.stat('missing'), 'FILE_NOT_FOUND');
      await assertRejects(files.list('missing'), 'FILE_NOT_FOUND');
      await assertRejects(files.move('missing', 'there'), 'FILE_NOT_FOUND');
      assert.equal(await files.exists('missing'), false);
      assert.deepEqual(await files.readMany(['missing']), [undefined]);
    },
  },
  {
    name: 'every byte comes back as it was written, and an empty file is empty',
    async run({ create }) {
      const { files } = await create();
      const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7 + (index >> 8)) & 255);
      await files.write('binary', bytes);
      assertSameBytes(await files.read('binary'), bytes);
      await files.write('empty', '');
      assert.equal((await files.read('empty')).length, 0);
      await files.write('text', 'ünï 漢字 🦊');
      assert.equal(await files.readText('text'), 'ünï 漢字 🦊');
    },
  },
  {
    name: 'writing makes the parents, replaces what is there, and sets the mode',
    async run({ create }) {
      const { files } = await create();
      await files.write('a/b/c', 'a longer text');
      await files.write('a/b/c', 'short', { mode: 0o640 });
      assert.equal(await files.readText('a/b/c'), 'short');
      assert.equal((await files.stat('a/b/c')).mode, 0o640);
    },
  },
  {
    name: '16 MiB stream in and out unchanged',
    async run({ create }) {
      const { files } = await create();
      const block = Buffer.from(Uint8Array.from({ length: 65_536 }, (_, index) => (index * 31) & 255));
      async function* source(): AsyncGenerator<Uint8Array> {
        for (let sent = 0; sent < SIXTEEN_MIB; sent += block.length) yield block;
        await Promise.resolve();
      }
      await files.write('large', source());
      assert.equal((await files.stat('large')).sizeBytes, SIXTEEN_MIB);
      let at = 0;
      for await (const chunk of files.readStream('large')) {
        const expected = Buffer.concat([block, block]).subarray(at % block.length);
        for (let offset = 0; offset < chunk.length; offset += block.length) {
          const part = chunk.subarray(offset, offset + block.length);
          assert.ok(expected.subarray(0, part.length).equals(part), `differs near byte ${at + offset}`);
        }
        at += chunk.length;
      }
      assert.equal(at, SIXTEEN_MIB);
    },
  },
  {
    name: 'what is longer than may be held in memory is refused, also when it never ends',
    async run({ create }) {
      const { commands, files } = await create();
      await commands.run('printf 12345 >five; printf 123456 >six; ln -s /dev/zero endless');
      const maxBytes = 5;
      assert.equal(await files.readText('five', { maxBytes }), '12345');
      for (const path of ['six', 'endless']) {
        await assertRejects(files.read(path, { maxBytes }), 'FILE_FAILED');
        await assertRejects(files.readText(path, { maxBytes }), 'FILE_FAILED');
        await assertRejects(files.readMany([path], { maxBytes }), 'FILE_FAILED');
      }
      await assertRejects(files.readMany(['five', 'five'], { maxBytes }), 'FILE_FAILED');
    },
  },
  {
    name: 'a reader may leave a stream early',
    async run({ create }) {
      const { commands, files } = await create();
      await commands.run(`head -c ${SIXTEEN_MIB} /dev/zero >large`);
      for await (const chunk of files.readStream('large')) {
        assert.ok(chunk.length > 0);
        break;
      }
      assert.equal((await files.stat('large')).sizeBytes, SIXTEEN_MIB);
    },
  },
  {
    name: 'many files are written and read together, in the order asked',
    async run({ create }) {
      const { files } = await create();
      const names = Array.from({ length: 20 }, (_, index) => `many/${index % 3}/${index}`);
      await files.writeMany(names.map((path, index) => ({ path, content: `content ${index}`, mode: 0o600 })));
      const read = await files.readMany([...names, 'many/none']);
      assert.deepEqual(
        read.map((bytes) => (bytes === undefined ? undefined : Buffer.from(bytes).toString())),
        [...names.map((_, index) => `content ${index}`), undefined],
      );
      await files.writeMany([]);
      assert.deepEqual(await files.readMany([]), []);
    },
  },
  {
    name: 'list and stat tell files, directories and links apart',
    async run({ create }) {
      const sandbox = await create();
      await outputOf(
        sandbox,
        'mkdir -p dir/sub; printf 12345 >dir/file; chmod 604 dir/file; ln -s file dir/link; ln -s gone dir/broken; touch dir/.hidden; mkfifo dir/pipe',
      );
      const found = new Map((await sandbox.files.list('dir')).map((info) => [info.name, info]));
      assert.deepEqual([...found.keys()].sort(), ['.hidden', 'broken', 'file', 'link', 'pipe', 'sub']);
      assert.deepEqual(
        ['file', 'sub', 'link', 'pipe'].map((name) => found.get(name)?.kind),
        ['file', 'directory', 'link', 'other'],
      );
      const file = found.get('file');
      assert.deepEqual(
        [file?.sizeBytes, file?.mode, file?.path, file?.target],
        [5, 0o604, `${sandbox.workdir}/dir/file`, undefined],
      );
      assert.ok(Math.abs((file?.modifiedAt ?? 0) - Date.now()) < 24 * 3600_000);
      assert.equal(found.get('broken')?.target, 'gone');
      assert.deepEqual(await sandbox.files.stat('dir/link'), found.get('link'));
      assert.equal(await sandbox.files.exists('dir/broken'), true);
      assert.equal((await sandbox.files.stat('/')).kind, 'directory');
      assert.deepEqual(await sandbox.files.list('dir/sub'), []);
    },
  },
  {
    name: 'what cannot be is FILE_FAILED with the reason',
    async run({ create }) {
      const { files } = await create();
      await files.mkdir('dir/sub');
      await files.write('file', 'x');
      await assertRejects(files.read('dir'), 'FILE_FAILED');
      await assertRejects(files.write('dir', 'x'), 'FILE_FAILED');
      await assertRejects(files.write('file/below', 'x'), 'FILE_FAILED');
      await assertRejects(files.mkdir('file'), 'FILE_FAILED');
      await assertRejects(files.list('file'), 'FILE_FAILED');
      await assertRejects(files.move('file', 'dir'), 'FILE_FAILED');
      await assertRejects(files.write('/proc/sublet-none/x', 'x'), 'FILE_FAILED', 'FILE_NOT_FOUND');
      assert.equal(await files.readText('file'), 'x');
    },
  },
  {
    name: 'mkdir and remove succeed when it is already so; move renames and never nests',
    async run({ create }) {
      const { files } = await create();
      await files.mkdir('d/e/f');
      await files.mkdir('d/e/f');
      await files.write('d/e/f/x', '1');
      await files.move('d/e', 'moved');
      assert.equal(await files.readText('moved/f/x'), '1');
      assert.equal(await files.exists('d/e'), false);
      await files.mkdir('empty');
      await files.move('moved', 'empty');
      assert.equal(await files.readText('empty/f/x'), '1');
      await files.write('a', 'a');
      await files.write('b', 'b');
      await files.move('a', 'b');
      assert.equal(await files.readText('b'), 'a');
      await files.remove('empty');
      await files.remove('empty');
      assert.equal(await files.exists('empty'), false);
    },
  },
  {
    name: 'a link that leads out of the sandbox does not reach the host',
    needs: ['isolation'],
    async run({ create }) {
      const host = await mkdtemp(join(tmpdir(), 'sublet-contract-'));
      try {
        const secret = join(host, 'secret');
        await writeFile(secret, 'host data', { mode: 0o666 });
        const { commands, files } = await create();
        await commands.run(['ln', '-s', secret, 'way-out']);
        await commands.run(['ln', '-s', host, 'way-out-dir']);
        for (const path of ['way-out', 'way-out-dir/secret', secret]) {
          const read = await files.readText(path).catch(() => 'unreadable');
          assert.notEqual(read, 'host data');
          await files.write(path, 'overwritten').catch(() => undefined);
          await files.remove(path).catch(() => undefined);
        }
        assert.equal(await readFile(secret, 'utf8'), 'host data');
      } finally {
        await rm(host, { recursive: true, force: true });
      }
    },
  },
  {
    name: 'an aborted file operation rejects with ABORTED',
    async run({ create }) {
      const { files } = await create();
      const signal = AbortSignal.abort();
      await assertRejects(files.read('x', { signal }), 'ABORTED');
      await assertRejects(files.write('x', 'x', { signal }), 'ABORTED');
      await assertRejects(collect(files.readStream('x', { signal })), 'ABORTED');
    },
  },
];
