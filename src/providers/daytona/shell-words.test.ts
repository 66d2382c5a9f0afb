import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { shellWords } from './shell-words.ts';
import { splitWords } from './split-words.fixture.ts';

const SCRIPT = `echo "it's" '$HOME' \\\\ \`echo x\` $((1 + 1)) %s\nprintf '%s\\n' "two
lines"`;

describe.runIf(process.platform === 'linux')('shellWords', () => {
  const expected = execFileSync('sh', ['-c', SCRIPT]).toString();

  it('is understood by a server with a shell', () => {
    expect(execFileSync('sh', ['-c', shellWords(SCRIPT)]).toString()).toBe(expected);
  });

  it('is understood by a server that splits words at quotes', () => {
    const [file = '', ...args] = splitWords(shellWords(SCRIPT));
    expect(execFileSync(file, args).toString()).toBe(expected);
  });
});
