/** `sublet snapshot`: a copy of a session's working directory, to be restored after a loss. */
import { defineCommand } from '../command.ts';
import { withProgress } from '../progress.ts';
import { formatBytes } from '../render/amounts.ts';
import { toJsonLine } from '../render/json-lines.ts';

export const command = defineCommand({
  summary: "keep a copy of a session's working directory",
  arguments: [{ name: 'ID', isSandbox: true }],
  options: { json: { type: 'boolean', help: 'print the snapshot as a JSON object' } },
  notes: [
    'With the policy onLost: restore, a sandbox that its provider lost is made again with the files of the last snapshot.\nProcesses and what is outside the working directory are not in it. The newest three are kept, in the home.',
  ],
  examples: [['sublet snapshot sbx_7k', 'its files as they are now']],
  async run({ options, arguments: [id = ''] }, { sublet, terminal }) {
    const { sandboxes } = await sublet();
    const snapshot = await withProgress(terminal, `Copying ${id}`, () => sandboxes.snapshot(id, 'asked by the CLI'));
    const line = `${snapshot.id}  ${formatBytes(snapshot.bytes)}\n`;
    await terminal.write('stdout', options.json ? toJsonLine(snapshot) : line);
    return 0;
  },
});
