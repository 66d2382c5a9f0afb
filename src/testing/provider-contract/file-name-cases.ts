/** File names: anything but a slash and NUL is a name. */
import assert from 'node:assert/strict';
import { assertRejects, type ProviderCase } from './provider-case.ts';

const ODD_NAMES = [
  'with space',
  ' lead',
  'trail ',
  "it's",
  '"',
  '-',
  '--',
  '-n',
  '-rf',
  'new\nline',
  'end\n',
  '\\',
  '$HOME',
  '`id`',
  '*',
  '[a]',
  '~',
  '#',
  '...',
  'tab\t',
  'ünï',
  '漢字',
  '🦊',
  'a;b&c|d',
  '%s',
  '{x}',
  '!',
  'é',
];

export const fileNameCases: readonly ProviderCase[] = [
  {
    name: 'odd names are written, read, listed, moved and removed like any other',
    async run({ create }) {
      const { files } = await create();
      await files.writeMany(ODD_NAMES.map((name) => ({ path: `odd/${name}`, content: `<${name}>` })));
      const contents = await files.readMany(ODD_NAMES.map((name) => `odd/${name}`));
      assert.deepEqual(
        contents.map((bytes) => Buffer.from(bytes ?? []).toString()),
        ODD_NAMES.map((name) => `<${name}>`),
      );
      const listed = (await files.list('odd')).map((info) => info.name).sort();
      assert.deepEqual(listed, [...ODD_NAMES].sort());
      for (const name of ODD_NAMES.slice(0, 12)) {
        assert.equal((await files.stat(`odd/${name}`)).name, name);
        await files.move(`odd/${name}`, `moved ${name}`);
        assert.equal(await files.readText(`moved ${name}`), `<${name}>`);
        await files.remove(`moved ${name}`);
        assert.equal(await files.exists(`moved ${name}`), false);
      }
    },
  },
  {
    name: 'odd names are directories and starting points too',
    async run({ create }) {
      const { files } = await create();
      for (const name of ['-', '-rf', 'new\nline', "it's $HOME", '漢字 🦊']) {
        await files.mkdir(`${name}/below`);
        await files.write(`${name}/below/${name}`, 'x');
        assert.deepEqual(
          (await files.list(`${name}/below`)).map((info) => info.name),
          [name],
        );
        assert.equal(await files.readText(`./${name}//below/../below/${name}`), 'x');
      }
    },
  },
  {
    name: 'a link with an odd target is told as it is written',
    async run({ create }) {
      const { commands, files } = await create();
      for (const target of ["../it's", 'new\nline\n', '-x', '漢字']) {
        await commands.run(['ln', '-sfn', '--', target, 'link']);
        assert.equal((await files.stat('link')).target, target);
      }
    },
  },
  {
    name: 'a NUL byte in a path is refused',
    async run({ create }) {
      const { files } = await create();
      await assertRejects(files.read('a\0b'), 'USAGE', 'FILE_FAILED', 'FILE_NOT_FOUND');
    },
  },
];
