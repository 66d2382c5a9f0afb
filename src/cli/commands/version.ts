/** `sublet version`. */
import { defineCommand } from '../command.ts';
import { toJsonLine } from '../render/json-lines.ts';
import { packageVersion } from '../package-version.ts';

export const command = defineCommand({
  summary: 'print the version',
  arguments: [],
  options: { json: { type: 'boolean', help: 'print a JSON object, with the versions of Node and the platform' } },
  examples: [['sublet version', 'the number alone']],
  async run({ options }, { terminal }) {
    const version = await packageVersion();
    const facts = { version, node: process.versions.node, platform: `${process.platform}-${process.arch}` };
    await terminal.write('stdout', options.json ? toJsonLine(facts) : `${version}\n`);
    return 0;
  },
});
