/** The package as it is published: what is in it, and that it loads. Looks at `dist/`, which `npm test` builds first. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { access, constants, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { scanImports } from '../scripts/scan-imports.ts';

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, '..');

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

interface LockEntry {
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as Manifest;

describe('the tarball', async () => {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: ROOT });
  const [tarball] = JSON.parse(stdout) as readonly { readonly files: readonly { readonly path: string }[] }[];
  const files = (tarball?.files ?? []).map((file) => file.path);

  it('holds the built code, what V8 made of it and four documents, and nothing else', () => {
    const isBuilt = (file: string): boolean =>
      /^dist\/.+\.(js|cjs|d\.ts)$/.test(file) || /^dist\/cli\/[a-z]+\.v[\d.]+-\w+\.pack$/.test(file);
    expect(files.filter((file) => !isBuilt(file)).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'package.json',
    ]);
  });

  it('holds no test', () => {
    expect(files.filter((file) => /\.test\.|fixture/.test(file))).toEqual([]);
  });

  it('holds what every export and bin names', () => {
    const targets = [
      ...Object.values(manifest.bin),
      ...Object.values(manifest.exports).flatMap((target) =>
        typeof target === 'string' ? [target] : Object.values(target),
      ),
    ].flatMap((target) => expandPattern(path.posix.normalize(target)));
    expect(targets.length).toBeGreaterThan(10);
    expect(targets.filter((target) => !files.includes(target))).toEqual([]);
  });
});

describe('the package', () => {
  it.each(publicSubpaths())('exports something from %s', async (specifier) => {
    const { stdout } = await run(
      process.execPath,
      ['--input-type=module', '-e', `console.log(Object.keys(await import('${specifier}')).join())`],
      { cwd: ROOT },
    );
    expect(stdout.trim()).not.toBe('');
  });

  it('has a CLI that an operating system can start', async () => {
    for (const file of Object.values(manifest.bin)) {
      const text = await readFile(path.join(ROOT, file), 'utf8');
      expect(text.startsWith('#!/usr/bin/env node\n'), file).toBe(true);
      await access(path.join(ROOT, file), constants.X_OK);
    }
  });

  it.each(Object.keys(manifest.dependencies))('can load its dependency %s on this Node', async (name) => {
    expect(Object.keys((await import(name)) as object)).not.toEqual([]);
  });

  it('uses every dependency it declares', () => {
    const imported = sourceFiles().flatMap((file) =>
      scanImports(readFileSync(file, 'utf8')).map((site) => site.specifier),
    );
    const declared = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
    expect(declared.filter((name) => !imported.some((specifier) => specifier?.startsWith(name)))).toEqual([]);
  });

  it('pins every dependency to one version', () => {
    const ranges = Object.values({ ...manifest.dependencies, ...manifest.optionalDependencies });
    expect(ranges.filter((range) => !/^\d+\.\d+\.\d+$/.test(range))).toEqual([]);
  });

  it('has a section in the changelog for its version', async () => {
    const changelog = await readFile(path.join(ROOT, 'CHANGELOG.md'), 'utf8');
    expect(changelog).toContain(`\n## [${manifest.version}]`);
  });
});

describe('the lock file', async () => {
  const lock = JSON.parse(await readFile(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockEntry>>;
  };

  it('names no registry', () => {
    expect(Object.entries(lock.packages).filter(([, entry]) => entry.resolved !== undefined)).toEqual([]);
  });

  it('brings none of the packages that only some users want', () => {
    const brought = new Set<string>();
    const bring = (name: string): void => {
      if (brought.has(name)) return;
      brought.add(name);
      const entry = lock.packages[`node_modules/${name}`];
      Object.keys({ ...entry?.dependencies, ...entry?.optionalDependencies }).forEach(bring);
    };
    Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).forEach(bring);
    const wanted = Object.keys(manifest.peerDependencies);
    expect(wanted).toEqual(expect.arrayContaining(['e2b', 'pg']));
    expect(wanted.filter((name) => brought.has(name))).toEqual([]);
    // One that is not optional is installed unasked.
    expect(wanted.filter((name) => manifest.peerDependenciesMeta[name]?.optional !== true)).toEqual([]);
  });

  it('has every package that another one needs on any platform', () => {
    const needed = Object.values(lock.packages).flatMap((entry) =>
      Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }),
    );
    const present = new Set(
      Object.keys(lock.packages).map((where) => where.slice(where.lastIndexOf('node_modules/') + 13)),
    );
    expect(needed.filter((name) => !present.has(name))).toEqual([]);
  });
});

/** `providers/*` stands for every folder of src/providers. */
function expandPattern(target: string): string[] {
  const match = /^dist\/(providers|stores)\/\*\//.exec(target);
  if (match?.[1] === undefined) return [target];
  return foldersOf(match[1]).map((name) => target.replace('*', name));
}

function publicSubpaths(): string[] {
  return Object.keys(manifest.exports)
    .filter((subpath) => !subpath.endsWith('.json'))
    .flatMap((subpath) => {
      const specifier = path.posix.join('sublet', subpath);
      const folder = /^\.\/(providers|stores)\/\*$/.exec(subpath)?.[1];
      return folder === undefined ? [specifier] : foldersOf(folder).map((name) => specifier.replace('*', name));
    });
}

function sourceFiles(): string[] {
  return readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => path.join(ROOT, 'src', file));
}

function foldersOf(folder: string): string[] {
  return readdirSync(path.join(ROOT, 'src', folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}
