/** `sublet cp`: files and directories into a sandbox and out of it. */
import { SubletError } from '../../core/errors.ts';
import { defineCommand, type CommandContext } from '../command.ts';
import { parseLocation, type Location } from '../copy/location.ts';
import { withProgress } from '../progress.ts';
import { printable } from '../render/printable.ts';
import { wakeSandbox } from '../wake-sandbox.ts';

export const command = defineCommand({
  summary: 'copy files and directories into a sandbox or out of it',
  arguments: [
    { name: 'SRC', maybeSandbox: true },
    { name: 'DST', maybeSandbox: true },
  ],
  options: {},
  notes: [
    'One side is ID:PATH, with PATH relative to the working directory; the other a path here, or - for standard input or\noutput. A path with a slash before its colon is always here: ./a:b. What comes out of a sandbox cannot write outside\nDST: links that point elsewhere are left out, and said so.',
  ],
  examples: [
    ['sublet cp ./src sbx_7k:src', 'a directory in'],
    ['sublet cp sbx_7k:report.pdf .', 'a file out'],
    ['sublet cp sbx_7k:data.json - | jq .', 'to a pipe'],
  ],
  async run({ arguments: [from = '', to = ''] }, context) {
    const source = parseLocation(from);
    const target = parseLocation(to);
    if (target.kind === 'sandbox' && source.kind !== 'sandbox') await copyTo(source, target, context);
    else if (source.kind === 'sandbox' && target.kind !== 'sandbox') await copyFrom(source, target, context);
    else
      throw new SubletError('USAGE', 'Exactly one of SRC and DST is in a sandbox: ID:PATH.', {
        hint: 'For example: sublet cp ./src sbx_7k:src',
      });
    return 0;
  },
});

type InSandbox = Extract<Location, { kind: 'sandbox' }>;
type Here = Exclude<Location, InSandbox>;

async function copyTo(source: Here, target: InSandbox, context: CommandContext): Promise<void> {
  const sandbox = await wakeSandbox(target.id, context);
  const { copyIn, writeWhole } = await import('../copy/copy-in.ts');
  if (source.kind === 'stream') return writeWhole(sandbox, target.path, context.terminal.stdin, context.signal);
  await withProgress(context.terminal, 'Copying', () => copyIn(source.path, sandbox, target.path, context.signal));
}

async function copyFrom(source: InSandbox, target: Here, context: CommandContext): Promise<void> {
  const { terminal, signal } = context;
  const sandbox = await wakeSandbox(source.id, context);
  if (target.kind === 'stream') {
    for await (const chunk of sandbox.files.readStream(source.path, { signal })) await terminal.write('stdout', chunk);
    return;
  }
  const { copyOut } = await import('../copy/copy-out.ts');
  const skipped = await withProgress(terminal, 'Copying', () => copyOut(sandbox, source.path, target.path, signal));
  for (const each of skipped) await terminal.write('stderr', `sublet: left out ${printable(each)}\n`);
}
