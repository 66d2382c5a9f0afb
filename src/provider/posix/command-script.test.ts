import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { armedScript, READ_SCRIPT } from './command-script.ts';

let directory = '';
beforeAll(async () => (directory = await mkdtemp(join(tmpdir(), 'sublet-armed-'))));
afterAll(() => rm(directory, { recursive: true, force: true }));

/** What the armed shell's own loop makes of the bytes, without its pipes. */
async function run(bytes: string): Promise<string> {
  const input = join(directory, 'input');
  await writeFile(input, bytes);
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-c', `exec 3<"$1"\n${READ_SCRIPT}eval "$sublet_script"`, 'sh', input],
    {
      maxBuffer: 2 ** 24,
    },
  );
  return stdout;
}

describe('the script for an armed shell', () => {
  it('is run as it is', async () => {
    expect(await run(armedScript("printf '%s\\n' 'a  b' \"\\\\n\" \\$x\n", false))).toBe('a  b\n\\n\n$x\n');
  });
  it('may hold the mark that ends it', async () => {
    expect(await run(armedScript("echo before\necho '\n#sublet-end\n'\necho after\n", false))).toBe(
      'before\n\n#sublet-end\n\nafter\n',
    );
  });
  it('may be large', async () => {
    const word = 'ü'.repeat(40_000);
    expect(await run(armedScript(`echo '${word}'\n`, false))).toBe(`${word}\n`);
  });
  it.each(['echo small; cat', `echo small; cat # ${'x'.repeat(20_000)}`, 'echo small; cat #sublet-end'])(
    'leaves what follows it as standard input',
    async (script) => {
      expect(await run(`${armedScript(`${script}\n`, true)}the input\n#sublet-end\nmore`)).toBe(
        'small\nthe input\n#sublet-end\nmore',
      );
    },
  );
  it('sees no variable of the shell that ran it, and none of its arguments', async () => {
    expect(await run(armedScript('echo "[$sublet_script][$sublet_line][$*]"\n', false))).toBe('[][][]\n');
  });
});
