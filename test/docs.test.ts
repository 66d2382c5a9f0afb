/** The documents: generated parts are fresh, links lead somewhere, examples are the files that are run here. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { generate } from '../scripts/generate.ts';
import { requirement } from './setup/requirements.ts';

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, '..');
const PAGES = [...filesIn('.', /\.md$/, false), ...filesIn('docs', /\.md$/, true)];
const EXAMPLES = filesIn('docs/examples', /\.ts$/, false);
const QUICK_START = 'npm ci && npx sublet run -- echo "hello from a sandbox"';
const TEST_COMMAND = 'npm ci && npm test';

describe('what is generated', async () => {
  it.each([...(await generate(ROOT))])('%s is fresh (npm run gen)', async (file, text) => {
    expect(await readFile(path.join(ROOT, file), 'utf8')).toBe(text);
  });
});

describe('the documents', () => {
  it.each(PAGES)('%s links only to what exists', (page) => {
    const targets = [...prose(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
    const local = targets.filter((target) => !/^[a-z]+:/.test(target));
    expect(local.filter((target) => !leadsSomewhere(page, target))).toEqual([]);
  });

  it.each(PAGES)('%s shows examples as they are run', (page) => {
    for (const [, file = '', block] of read(page).matchAll(/<!-- example: (\S+) -->\n```ts\n([\s\S]*?)```/g)) {
      expect(block, `${page}: ${file}`).toBe(read(file));
    }
  });

  it('show every example', () => {
    const text = PAGES.map((page) => read(page)).join('\n');
    expect(EXAMPLES.filter((file) => !text.includes(`<!-- example: ${file} -->`))).toEqual([]);
  });

  it('have a page for every provider', () => {
    const ids = readdirSync(path.join(ROOT, 'src/providers'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => `docs/providers/${entry.name}.md`);
    expect(ids.filter((page) => !PAGES.includes(page))).toEqual([]);
  });

  it('number the decisions without a gap, each in at most 60 lines', () => {
    const decisions = PAGES.filter((page) => page.startsWith('docs/adr/'));
    expect(decisions.map((page) => Number(path.basename(page).slice(0, 4)))).toEqual(
      decisions.map((_, index) => index + 1),
    );
    expect(decisions.filter((page) => read(page).trimEnd().split('\n').length > 60)).toEqual([]);
  });

  it('give the two commands, and a full run uses the second', () => {
    expect(read('README.md')).toContain(`\n${QUICK_START}\n`);
    expect(read('README.md')).toContain(`\n${TEST_COMMAND}\n`);
    expect(read('.ci/run')).toContain(`\n  contained '${TEST_COMMAND}'\n`);
  });
});

describe.runIf(await requirement('namespace'))('an example', () => {
  it.each(EXAMPLES)('%s prints what its comments say', async (file) => {
    const home = await mkdtemp(path.join(tmpdir(), 'sublet-docs-'));
    try {
      const { stdout } = await run(process.execPath, ['--import', 'tsx', file], {
        cwd: ROOT,
        env: { PATH: process.env['PATH'], HOME: home, SUBLET_HOME: home },
        timeout: 50_000,
      });
      const promised = [...read(file).matchAll(/\/\/ → (.*)$/gm)].map((match) => match[1]);
      expect(promised).not.toEqual([]);
      expect(stdout.trimEnd().split('\n')).toEqual(promised);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** Code is not prose: brackets and parentheses there are no links. */
function prose(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
}

function leadsSomewhere(page: string, target: string): boolean {
  const [file = '', anchor] = target.split('#');
  const destination = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
  if (!existsSync(path.join(ROOT, destination))) return false;
  return anchor === undefined || anchorsOf(read(destination)).includes(anchor);
}

function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function filesIn(folder: string, pattern: RegExp, recursive: boolean): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive, encoding: 'utf8' })
    .filter((name) => pattern.test(name))
    .map((name) => path.posix.join(folder, name.replaceAll(path.sep, '/')))
    .toSorted();
}
