/** Standard input: text, bytes, streams, and commands that do not want it. */
import assert from 'node:assert/strict';
import { assertExit, type ProviderCase } from './provider-case.ts';

const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, index) => index);

export const inputCases: readonly ProviderCase[] = [
  {
    name: 'standard input is empty unless given',
    async run({ create }) {
      const { commands } = await create();
      assert.equal((await commands.run('cat; echo end')).stdout, 'end\n');
      assert.equal((await commands.run('cat; echo end', { stdin: '' })).stdout, 'end\n');
    },
  },
  {
    name: 'text arrives as UTF-8',
    async run({ create }) {
      const { commands } = await create();
      assert.equal((await commands.run('cat', { stdin: 'ünï 漢字 🦊\n' })).stdout, 'ünï 漢字 🦊\n');
    },
  },
  {
    name: 'bytes arrive as they are',
    async run({ create }) {
      const { commands } = await create();
      const chunks: Uint8Array[] = [];
      const result = await commands.run('cat', {
        stdin: ALL_BYTES,
        onStdout: (chunk) => void chunks.push(Uint8Array.from(chunk)),
      });
      assertExit(result, 0);
      assert.deepEqual(new Uint8Array(Buffer.concat(chunks)), ALL_BYTES);
    },
  },
  {
    name: 'a stream of several MiB arrives whole',
    async run({ create }) {
      const { commands } = await create();
      async function* source(): AsyncGenerator<Uint8Array> {
        for (let part = 0; part < 48; part++) yield Buffer.alloc(100_000, part);
        await Promise.resolve();
      }
      assert.equal((await commands.run('wc -c', { stdin: source() })).stdout.trim(), '4800000');
    },
  },
  {
    name: 'a command that does not read its input ends all the same',
    async run({ create }) {
      const { commands } = await create();
      assert.equal((await commands.run('echo done', { stdin: Buffer.alloc(1_000_000) })).stdout, 'done\n');
      async function* endless(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('first line\n');
        await new Promise(() => undefined);
      }
      assert.equal((await commands.run('head -n 1', { stdin: endless() })).stdout, 'first line\n');
    },
  },
  {
    name: 'an input that fails stops the command and its error is the result',
    async run({ create }) {
      const { commands } = await create();
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('x');
        await Promise.resolve();
        throw new Error('the source broke');
      }
      await assert.rejects(commands.run('cat; sleep 1000', { stdin: broken() }), /the source broke/);
    },
  },
];
