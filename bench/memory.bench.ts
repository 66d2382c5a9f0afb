/** What 1 GiB of output does to this process's memory, each way in a process of its own. */
import { fork } from 'node:child_process';
import path from 'node:path';
import type { Figure } from './figure.ts';
import { single } from './measure.ts';
import type { Growth, OutputPath } from './output-path.ts';

const PATHS: readonly { readonly path: OutputPath; readonly name: string }[] = [
  { path: 'run', name: '1 GiB through run' },
  { path: 'callback', name: '1 GiB through run with onStdout' },
  { path: 'stream', name: "1 GiB through a background command's stream" },
];

export async function measure(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const { path: outputPath, name } of PATHS) {
    const ours = await growthOf(outputPath);
    const raw = await growthOf('bare');
    figures.push({
      name,
      unit: 'MiB',
      ours: single(ours),
      raw: single(raw),
      against: 'a bare spawn whose output is dropped',
      target: { of: 'median', atMost: 32 },
    });
  }
  return figures;
}

/** MiB. */
function growthOf(outputPath: OutputPath): Promise<number> {
  const child = fork(path.join(import.meta.dirname, 'output-path.ts'), [outputPath]);
  return new Promise((resolve, reject) => {
    let growth = NaN;
    child.once('message', (message) => (growth = (message as Growth).total));
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(growth) : reject(new Error(`output through ${outputPath} ended with status ${code}`)),
    );
  });
}
