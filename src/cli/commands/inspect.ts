/** `sublet inspect`: everything known of one sandbox. */
import { defineCommand } from '../command.ts';
import type { SandboxDetails } from '../../core/api.ts';
import { renderEvent } from '../render/event.ts';
import { renderFields } from '../render/fields.ts';
import { toJsonLine } from '../render/json-lines.ts';

export const command = defineCommand({
  summary: 'show everything known of a sandbox',
  arguments: [{ name: 'ID', isSandbox: true }],
  options: { json: { type: 'boolean', help: 'print a JSON object' } },
  examples: [
    ['sublet inspect sbx_7k', 'state, policy, who has it, what happened to it and why'],
    ['sublet inspect --json sbx_7k | jq .policy', 'one part of it'],
  ],
  async run({ options, arguments: [id = ''] }, { sublet, terminal }) {
    const details = await (await sublet()).sandboxes.inspect(id);
    await terminal.write('stdout', options.json ? toJsonLine(details) : toText(details));
    return 0;
  },
});

function toText({ events, owner, lease, ...info }: SandboxDetails): string {
  const fields = renderFields({ ...info, owner: owner ?? 'none: it left, or what it had was seen to', lease });
  return `${fields}events\n${events.map((event) => `  ${renderEvent(event, false)}`).join('')}`;
}
