/** The shape of `src/`: who imports whom, and proof that the checker would notice. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findViolations, IMPORT_TABLE, LONG_FILES } from '../scripts/architecture.ts';
import type { Sources } from '../scripts/architecture.ts';
import { scanImports } from '../scripts/scan-imports.ts';

const ROOT = path.resolve(import.meta.dirname, '..');

describe('the source tree', () => {
  it('keeps every rule of shape', async () => {
    const sources = await readSources(path.join(ROOT, 'src'));
    expect(sources.size).toBeGreaterThan(20);
    expect(findViolations(sources)).toEqual([]);
  });

  it('lists no long file that is gone or short again', async () => {
    const sources = await readSources(path.join(ROOT, 'src'));
    const stale = Object.keys(LONG_FILES).filter((file) => (sources.get(file)?.split('\n').length ?? 0) <= 300);
    expect(stale).toEqual([]);
  });

  it('has the table of ARCHITECTURE.md', async () => {
    const text = await readFile(path.join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    for (const [folder, rule] of Object.entries(IMPORT_TABLE)) {
      const row = new RegExp(`^\\| \`${folder}(?:/x)?\` \\| ([^|]*) \\|`, 'm').exec(text);
      const types = (rule.types ?? []).map((name) => `${name} (types)`);
      expect(row?.[1]?.trim(), folder).toBe([...rule.imports, ...types].join(', ') || 'nothing');
    }
  });
});

describe('the checker', () => {
  it.each([
    ['core imports a folder above it', { 'core/a.ts': `import { b } from '../store/b.ts';`, 'store/b.ts': '' }],
    ['core imports a builtin', { 'core/a.ts': `import { readFile } from 'node:fs/promises';` }],
    ['core imports a package', { 'core/a.ts': `import { z } from 'zod';` }],
    ['a package is used outside its home', { 'manager/a.ts': `const { z } = await import('zod');` }],
    ['a builtin is imported without node:', { 'cli/a.ts': `import fs from 'fs';` }],
    [
      'a provider imports another',
      {
        'providers/a/a.ts': `import { b } from '../b/b.ts';`,
        'providers/b/b.ts': '',
      },
    ],
    [
      'a provider imports another late',
      {
        'providers/a/a.ts': `const { b } = await import('../b/b.ts');`,
        'providers/b/b.ts': '',
      },
    ],
    [
      'a provider re-exports the manager',
      { 'providers/a/a.ts': `export * from '../../manager/m.ts';`, 'manager/m.ts': '' },
    ],
    [
      'config imports a value of the provider contract',
      {
        'config/a.ts': `import { b } from '../provider/b.ts';`,
        'provider/b.ts': '',
      },
    ],
    [
      'the CLI reaches past the composition root',
      { 'cli/a.ts': `import { m } from '../manager/m.ts';`, 'manager/m.ts': '' },
    ],
    ['a module imports a test', { 'core/a.ts': `import { t } from './b.test.ts';`, 'core/b.test.ts': '' }],
    ['a module imports a fixture', { 'core/a.ts': `import { f } from './b.fixture.ts';`, 'core/b.fixture.ts': '' }],
    ['a module imports what does not exist', { 'core/a.ts': `import { b } from './b.ts';` }],
    ['a specifier is computed', { 'cli/a.ts': `await import(name);` }],
    [
      'two modules import each other',
      {
        'core/a.ts': `import type { B } from './b.ts';`,
        'core/b.ts': `import type { A } from './a.ts';`,
      },
    ],
    ['a folder is called utils', { 'core/utils/a.ts': '' }],
    ['a folder is not in the table', { 'engine/a.ts': '' }],
    ['a file is not kebab-case', { 'core/sessionKey.ts': '' }],
    ['a folder has a barrel', { 'core/index.ts': '' }],
    ['a file has more than 300 lines', { 'core/a.ts': 'x;\n'.repeat(301) }],
    ['a generated file has no header', { 'providers/registry.gen.ts': 'export const x = 1;' }],
  ])('notices when %s', (_fact, files) => {
    expect(findViolations(toSources(files))).toHaveLength(1);
  });

  it.each([
    [
      'the composition root imports everything',
      {
        'open.ts': `import { m } from './manager/m.ts'; import { z } from 'zod'; import 'node:fs';`,
        'manager/m.ts': `import type { c } from '../core/c.ts';`,
        'core/c.ts': '',
      },
    ],
    ['the CLI imports the composition root', { 'cli/a.ts': `import { open } from '../open.ts';`, 'open.ts': '' }],
    [
      'config imports a type of the provider contract',
      {
        'config/a.ts': `import type { b } from '../provider/b.ts';`,
        'provider/b.ts': '',
      },
    ],
    ['a provider imports within its folder', { 'providers/a/a.ts': `import './b.ts';`, 'providers/a/b.ts': '' }],
    [
      'a module is loaded late by one it imports',
      { 'cli/a.ts': `const b = () => import('./b.ts');`, 'cli/b.ts': `import './a.ts';` },
    ],
    [
      'a fixture imports what it needs',
      { 'core/a.fixture.ts': `import 'node:http'; import '../store/b.ts';`, 'store/b.ts': '' },
    ],
    ['a test imports what it needs', { 'core/a.test.ts': `import { it } from 'vitest'; import '../store/b.ts';` }],
  ])('allows that %s', (_fact, files) => {
    expect(findViolations(toSources(files))).toEqual([]);
  });
});

describe('scanImports', () => {
  it('finds every form of import and none in comments, strings or patterns', () => {
    const source = `
      // import '0a'
      /* export * from '0b' */
      import '1';
      import type { A } from '2';
      import { from, type B } from "3";
      export { c } from '4';
      export type * from '5';
      const text = 'import "0c"' + \`import('0d') \${await import('0e')} from '0f'\`;
      const pattern = /'/.test(text) ? await import('6') : text;
      let value: import('7').Value = range(1, 2) / 3 / 4;
      const { from: start } = { from: '0g' };
      await import(path);
    `;
    expect(scanImports(source)).toEqual([
      { specifier: '1', typeOnly: false, late: false, line: 4 },
      { specifier: '2', typeOnly: true, late: false, line: 5 },
      { specifier: '3', typeOnly: false, late: false, line: 6 },
      { specifier: '4', typeOnly: false, late: false, line: 7 },
      { specifier: '5', typeOnly: true, late: false, line: 8 },
      { specifier: '6', typeOnly: false, late: true, line: 10 },
      { specifier: '7', typeOnly: true, late: true, line: 11 },
      { specifier: undefined, typeOnly: false, late: true, line: 13 },
    ]);
  });
});

function toSources(files: Record<string, string | undefined>): Sources {
  return new Map(Object.entries(files).map(([file, text]) => [file, text ?? '']));
}

async function readSources(root: string): Promise<Sources> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.ts'));
  return new Map(
    await Promise.all(
      files.map(async (entry): Promise<[string, string]> => {
        const file = path.join(entry.parentPath, entry.name);
        return [path.relative(root, file).replaceAll(path.sep, '/'), await readFile(file, 'utf8')];
      }),
    ),
  );
}
