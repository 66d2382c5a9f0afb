/** Running code through a file, with real interpreters of this machine. */
import { execFile } from 'node:child_process';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { afterEach, expect, it } from 'vitest';
import type { CommandResult, Commands } from '../core/commands.ts';
import type { Files } from '../core/files.ts';
import { runCode } from './run-code.ts';

const written: string[] = [];

afterEach(async () => {
  await Promise.all(written.splice(0).map((file) => rm(file, { force: true })));
});

it('runs code as it is written and lets it read standard input', async () => {
  const code = `const chunks = [];\nfor await (const chunk of process.stdin) chunks.push(chunk);\nconsole.log(\`it's "\${Buffer.concat(chunks)}" $HOME \\\\ é\`);\n`;
  const result = await runCode(host(), 'javascript', code, { stdin: 'given' });
  expect(result.stdout).toBe(`it's "given" $HOME \\ é\n`);
});

it('passes the exit status of the code', async () => {
  expect((await runCode(host(), 'javascript', 'process.exit(42)')).exitCode).toBe(42);
});

it('removes the file it wrote', async () => {
  await runCode(host(), 'javascript', '0');
  expect(written).toHaveLength(1);
  await expect(stat(written[0] ?? '')).rejects.toMatchObject({ code: 'ENOENT' });
});

it.each([
  ['python', 'python3, python'],
  ['javascript', 'node, bun, deno'],
  ['bash', 'bash'],
] as const)('says what it looked for when there is no interpreter for %s', async (language, looked) => {
  await expect(runCode(host({ PATH: '/nonexistent' }), language, '')).rejects.toMatchObject({
    code: 'INTERPRETER_MISSING',
    message: expect.stringContaining(looked),
  });
});

it('takes an exit status of 127 by the code itself for a result', async () => {
  expect((await runCode(host(), 'javascript', 'process.exit(127)')).exitCode).toBe(127);
});

it('refuses a language it does not know', async () => {
  await expect(runCode(host(), 'cobol' as 'bash', '')).rejects.toMatchObject({ code: 'USAGE' });
});

/** This machine instead of a sandbox, as far as `runCode` needs one. */
function host(env: NodeJS.ProcessEnv = process.env): { commands: Commands; files: Files } {
  const commands = {
    run: (command: string, options: { stdin?: string }) =>
      new Promise<CommandResult>((resolve) => {
        const child = execFile('/bin/sh', ['-c', command], { env }, (error, stdout, stderr) => {
          const exitCode = error === null ? 0 : Number(error.code);
          resolve({
            exitCode,
            stdout,
            stderr,
            durationMs: 0,
            timedOut: false,
            truncated: false,
            stdoutBytes: 0,
            stderrBytes: 0,
          });
        });
        child.stdin?.on('error', () => {});
        child.stdin?.end(options.stdin ?? '');
      }),
  };
  const files = {
    async write(file: string, content: string) {
      written.push(file);
      await writeFile(file, content);
      expect(await readFile(file, 'utf8')).toBe(content);
    },
    remove: (file: string) => rm(file),
  };
  return { commands, files } as unknown as { commands: Commands; files: Files };
}
