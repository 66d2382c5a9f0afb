/** What a real process does with real signals. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const HOOKS = path.join(import.meta.dirname, 'install-exit-hooks.ts');
const LOADER = import.meta.resolve('tsx');

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'sublet-exit-'));
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

it.each(['SIGINT', 'SIGTERM'] as const)('closes on %s and then ends by that signal', async (signal) => {
  const child = await start('await new Promise((resolve) => setTimeout(resolve, 20)); console.log("closed");', true);
  child.kill(signal);
  expect(await child.ended).toMatchObject({ signal, stdout: expect.stringContaining('closed') });
});

it('gives up loudly on the second signal', async () => {
  const child = await start('console.log("closing"); await new Promise(() => setTimeout(() => {}, 600_000));', true);
  child.kill('SIGINT');
  await child.says('closing');
  child.kill('SIGINT');
  expect(await child.ended).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('sbx_left') });
});

it('closes when the process ends by itself', async () => {
  const child = await start('console.log("closed");', false);
  expect(await child.ended).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('closed') });
});

interface Child {
  kill(signal: NodeJS.Signals): void;
  says(text: string): Promise<void>;
  readonly ended: Promise<{ exitCode: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }>;
}

async function start(closeBody: string, isKeptAlive: boolean): Promise<Child> {
  const script = path.join(directory, `${crypto.randomUUID()}.mts`);
  await writeFile(
    script,
    `import { installExitHooks } from ${JSON.stringify(HOOKS)};
     installExitHooks({ held: () => ['sbx_left'], close: async () => { ${closeBody} } });
     ${isKeptAlive ? 'setTimeout(() => {}, 600_000);' : ''}
     console.log('ready');`,
  );
  const child = spawn(process.execPath, ['--import', LOADER, script], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  const says = async (text: string): Promise<void> => {
    while (!stdout.includes(text)) await once(child.stdout, 'data');
  };
  const ended = once(child, 'close').then(([exitCode, signal]) => ({ exitCode, signal, stdout, stderr }));
  await says('ready');
  return { kill: (signal) => void child.kill(signal), says, ended };
}
