/** Terminals. */
import assert from 'node:assert/strict';
import type { RunningCommand } from '../../core/commands.ts';
import type { ProviderCase } from './provider-case.ts';

const needs = ['background', 'pty'] as const;

export const ptyCases: readonly ProviderCase[] = [
  {
    name: 'a terminal is a terminal, of the size asked for',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start('[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo tty; stty size', {
        pty: { cols: 91, rows: 33 },
      });
      assert.equal((await command.wait()).exitCode, 0);
      assert.equal((await command.info()).pty, true);
      const text = await seen(command, () => false);
      assert.match(text, /tty\r\n33 91\r\n/);
    },
  },
  {
    name: 'what is typed arrives, and the size can change',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start('echo ready; read line; echo "got $line"; stty size; read line; exit 6', {
        pty: { cols: 80, rows: 24 },
      });
      await seen(command, (text) => text.includes('ready'));
      await command.resize({ cols: 100, rows: 40 });
      await command.writeStdin('typed\r');
      const text = await seen(command, (so) => so.includes('40 100'));
      assert.match(text, /got typed/);
      await command.writeStdin('\r');
      assert.equal((await command.wait()).exitCode, 6);
    },
  },
  {
    name: 'a terminal is ended with all that runs in it',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start('echo ready; sleep 1000', { pty: { cols: 80, rows: 24 } });
      await seen(command, (text) => text.includes('ready'));
      await command.kill();
      assert.equal((await command.wait()).exitCode, null);
      assert.equal((await command.info()).running, false);
    },
  },
];

/** Reads from the beginning until `isEnough` or the end. */
async function seen(command: RunningCommand, isEnough: (text: string) => boolean): Promise<string> {
  let text = '';
  for await (const chunk of command.stream('stdout')) {
    text += Buffer.from(chunk).toString();
    if (isEnough(text)) break;
  }
  return text;
}
