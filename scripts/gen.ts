/** Writes every generated file: `npm run gen`. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generate } from './generate.ts';

const root = path.resolve(import.meta.dirname, '..');

for (const [file, text] of await generate(root)) {
  const target = path.join(root, file);
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, text);
  process.stdout.write(`${file}\n`);
}
