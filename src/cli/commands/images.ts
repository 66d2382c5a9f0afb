/** `sublet images`: root file systems by name. */
import type { HomePaths } from '../../config/home.ts';
import { homePaths } from '../../config/home.ts';
import { addImage, listImages, removeImage, type NamedImage } from '../../config/images.ts';
import { defineCommand, type CommandContext } from '../command.ts';
import { usage } from '../parse/command-line.ts';
import { toJsonLine, toJsonLines } from '../render/json-lines.ts';
import { printTable } from '../render/print-table.ts';
import type { Column } from '../render/rows.ts';

const COLUMNS: readonly Column<NamedImage>[] = [
  { title: 'IMAGE', value: (row) => row.name },
  { title: 'KIND', value: (row) => row.kind, colour: (row) => (row.kind === 'missing' ? 'bad' : undefined) },
  { title: 'PATH', value: (row) => row.path, shrinks: true },
];

export const command = defineCommand({
  summary: 'list, add and remove root file systems for --image',
  arguments: [
    { name: 'ACTION', optional: true, choices: ['ls', 'add', 'rm'] },
    { name: 'NAME', optional: true },
    { name: 'PATH', optional: true },
  ],
  options: { json: { type: 'boolean', help: 'print one JSON object a line' } },
  notes: [
    "An image is a directory or a tarball that holds a root file system, such as `docker export` writes. A name is a\nreference: the directory or tarball stays where it is. Without an image, sandboxes see the host's system directories.",
  ],
  examples: [
    ['sublet images add alpine ./alpine-rootfs.tar.gz', 'give it a name'],
    ['sublet run --image alpine -- cat /etc/os-release', 'and use it'],
    ['sublet images rm alpine', 'forget the name'],
  ],
  async run({ options, arguments: [action = 'ls', name, path] }, { env, terminal }) {
    const home = homePaths(env);
    if (action === 'ls') return list(home, options.json, terminal);
    if (name === undefined) throw usage('images', `sublet images ${action} needs NAME.`);
    if (action === 'rm') {
      await removeImage(home, name);
      return 0;
    }
    if (path === undefined) throw usage('images', 'sublet images add needs NAME and PATH.');
    const image = await addImage(home, name, path);
    await terminal.write('stdout', options.json ? toJsonLine(image) : `${image.name}\n`);
    return 0;
  },
});

async function list(home: HomePaths, json: boolean, terminal: CommandContext['terminal']): Promise<number> {
  const images: readonly NamedImage[] = await listImages(home);
  if (json) await terminal.write('stdout', toJsonLines(images));
  else if (images.length === 0) await terminal.write('stderr', 'No images. "sublet images add NAME PATH" adds one.\n');
  else await printTable(images, COLUMNS, terminal);
  return 0;
}
