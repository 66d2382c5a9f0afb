/** Output: capped, counted, cut between characters, streamed at the consumer's pace. */
import assert from 'node:assert/strict';
import { assertExit, type ProviderCase } from './provider-case.ts';

const TEN_MB = 10_000_000;

export const outputCases: readonly ProviderCase[] = [
  {
    name: '10 MB of output are counted in full and kept in part: the first and the last',
    async run({ create }) {
      const { commands } = await create();
      const result = await commands.run(`echo first; head -c ${TEN_MB} /dev/zero | tr '\\0' x; echo; echo last`, {
        maxOutputBytes: 100_000,
      });
      assertExit(result, 0);
      assert.equal(result.stdoutBytes, TEN_MB + 'first\n\nlast\n'.length);
      assert.equal(result.truncated, true);
      assert.ok(result.stdout.length <= 100_200, `${result.stdout.length} characters kept`);
      assert.ok(result.stdout.startsWith('first\n') && result.stdout.endsWith('\nlast\n'));
    },
  },
  {
    name: 'a cut never splits a character',
    async run({ create }) {
      const { commands } = await create();
      for (const maxOutputBytes of [1000, 1001, 1002, 1003]) {
        const result = await commands.run("i=0; while [ $i -lt 1000 ]; do printf '漢🦊é'; i=$((i+1)); done", {
          maxOutputBytes,
        });
        assert.equal(result.stdoutBytes, 9000);
        assert.equal(result.stdout.includes('\ufffd'), false);
      }
    },
  },
  {
    name: 'bytes that are not UTF-8 reach the callback as they are and the text as U+FFFD',
    async run({ create }) {
      const { commands } = await create();
      const chunks: Uint8Array[] = [];
      const result = await commands.run("printf 'a\\377\\000b'", {
        onStdout: (chunk) => void chunks.push(Uint8Array.from(chunk)),
      });
      assert.deepEqual(Buffer.concat(chunks), Buffer.from([0x61, 0xff, 0x00, 0x62]));
      assert.equal(result.stdout, 'a\ufffd\0b');
    },
  },
  {
    name: 'the callbacks see every byte of both streams, in order',
    async run({ create }) {
      const { commands } = await create();
      const seen = { out: [] as Uint8Array[], err: [] as Uint8Array[] };
      const result = await commands.run(
        'i=0; while [ $i -lt 5000 ]; do echo line $i; echo error $i >&2; i=$((i+1)); done',
        {
          maxOutputBytes: 10,
          onStdout: (chunk) => void seen.out.push(Uint8Array.from(chunk)),
          onStderr: (chunk) => void seen.err.push(Uint8Array.from(chunk)),
        },
      );
      assertExit(result, 0);
      const lines = (word: string): string => Array.from({ length: 5000 }, (_, index) => `${word} ${index}\n`).join('');
      assert.equal(Buffer.concat(seen.out).toString(), lines('line'));
      assert.equal(Buffer.concat(seen.err).toString(), lines('error'));
    },
  },
  {
    name: 'a slow consumer holds the command back',
    async run({ create }) {
      const { commands, files } = await create();
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      const running = commands.run(`head -c ${TEN_MB} /dev/zero && touch written-all`, { onStdout: () => held });
      // Whoever buffers without bound swallows 10 MB in much less time than this.
      await commands.run('sleep 0.5');
      const wroteAll = await files.exists('written-all');
      release();
      assertExit(await running, 0);
      assert.equal(wroteAll, false);
      assert.equal((await running).stdoutBytes, TEN_MB);
    },
  },
  {
    name: 'a callback that fails stops the command and its error is the result',
    async run({ create }) {
      const { commands } = await create();
      const onStdout = (): void => {
        throw new Error('the consumer broke');
      };
      await assert.rejects(commands.run('echo x; sleep 1000', { onStdout }), /the consumer broke/);
    },
  },
  {
    name: 'a daemon that keeps standard output does not hold the result back',
    async run({ create }) {
      const { commands } = await create();
      const result = await commands.run('sleep 1000 & echo started', { timeoutMs: 20_000 });
      assert.deepEqual([result.stdout, result.timedOut, result.exitCode], ['started\n', false, 0]);
    },
  },
];
