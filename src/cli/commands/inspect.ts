/** `sublet inspect`: everything known of one sandbox. */
import { defineCommand } from '../command.ts';
import { renderFields } from '../render/fields.ts';
import { toJsonLine } from '../render/json-lines.ts';

export const command = defineCommand({
  summary: 'show everything known of a sandbox',
  arguments: [{ name: 'ID', isSandbox: true }],
  options: { json: { type: 'boolean', help: 'print a JSON object' } },
  examples: [
    ['sublet inspect sbx_7k', 'state, policy, and why it is so'],
    ['sublet inspect --json sbx_7k | jq .policy', 'one part of it'],
  ],
  async run({ options, arguments: [id = ''] }, { sublet, terminal }) {
    const info = await (await sublet()).sandboxes.get(id);
    await terminal.write('stdout', options.json ? toJsonLine(info) : renderFields(info));
    return 0;
  },
});
