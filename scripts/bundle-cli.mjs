/**
 * Packs the compiled command line into a few files: Node takes half a millisecond to load a module, and `sublet run`
 * uses 150 of them. What every run needs is one chunk; the rest stays apart and is loaded when it is asked for.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const { writePack } = createRequire(import.meta.url)('./pack-file.cjs');

const dist = path.resolve(import.meta.dirname, '../dist');
const packed = path.join(dist, 'cli-packed');
const cli = path.join(dist, 'cli');

// What every command needs goes with the entry; what `run` needs is three more files: what it takes to start a sandbox's
// first process, what it takes to tell that what to become, and what is loaded while it does. Modules that a plain run never
// touches stay apart, above all those that load a package when they are loaded themselves.
const ENTRY =
  /\/dist\/(core\/(errors|nearest)|cli\/(create-log|progress|command|command-table|parse\/command-line))\.js$/;
const AHEAD =
  /\/dist\/(head-start|automatic-provider|provider\/posix\/(bare-child|bare-handles|spawn-piped-child|inherited-descriptors|own-turn)|providers\/namespace\/(early-setup|setup|setup-script|privileges|layout|namespace-errors))\.js$/;
const FIRST =
  /\/dist\/((open|watch)\.js|(core|config|provider|providers\/namespace)\/|providers\/registry\.gen\.js|telemetry\/log\.js|cli\/(commands\/run|with-sandbox|run-alone|run-in-sandbox|exit-status|parse\/.*)\.js)/;
const SECOND = /\/dist\/(manager|store|stores\/sqlite)\//;
const COLD =
  /\/(posix\/inside|provider\/service)\/|\/(profile-schema|images|probe|pino-log|pty-command|stderr-log|install-exit-hooks|snapshot-files)\.js$/;

/** What belongs to the engine and no plain run calls: loaded by whoever does. */
const REST = 'rest';
/** Of these a run calls nothing and takes a value. */
const TAKEN_FROM = /\/dist\/(core\/(breaker|liveness)|providers\/namespace\/making)\.js$/;
const isUsed = findUsed();
const isFirst = (id) => FIRST.test(id) && !COLD.test(id);
const isSecond = (id) => SECOND.test(id) && !COLD.test(id);

const LATE = ['child_process', 'crypto', 'fs/promises', 'net', 'os', 'stream', 'stream/promises', 'tty', 'url', 'util'];

// SQLite's native part, opened by its name beside our package, or below it in a checkout: to look for it as its own package does
// takes four times as long. Where it is not there, or is for another C library, that package is asked.
const SQLITE = '@photostructure/sqlite';
const VIRTUAL = '\0sqlite';
const OPEN_SQLITE = `import { existsSync } from 'node:fs';
const name = '${SQLITE}';
const file = \`${SQLITE}/prebuilds/\${process.platform}-\${process.arch}/${SQLITE.replace('/', '+')}.glibc.node\`;
function openNative() {
  const native = { exports: {} };
  try {
    const place = ['../../..', '../../node_modules'].find((up) => existsSync(\`\${__dirname}/\${up}/\${file}\`));
    if (place !== undefined) process.dlopen(native, \`\${__dirname}/\${place}/\${file}\`);
  } catch {}
  // By a name that the packer does not see: it would give this module itself.
  return native.exports.DatabaseSync === undefined ? require(name) : native.exports;
}
export const { DatabaseSync } = openNative();
`;

const bundle = await rolldown({
  input: { program: path.join(cli, 'main.js') },
  platform: 'node',
  plugins: [
    {
      name: 'sqlite',
      resolveId: (id) => (id === SQLITE ? VIRTUAL : null),
      load: (id) => (id === VIRTUAL ? OPEN_SQLITE : null),
    },
    {
      name: 'version',
      transform: (code, id) => (id.endsWith('/bare-handles.js') ? withVersion(code) : null),
    },
  ],
  external: (id) => !id.startsWith('.') && !path.isAbsolute(id) && id !== VIRTUAL && id !== SQLITE,
  preserveEntrySignatures: false,
});
await bundle.write({
  dir: packed,
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  comments: false,
  // Names of functions, classes and methods are left: they are what a stack is read by.
  minify: { mangle: { toplevel: false }, compress: true, codegen: true },
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      { name: 'sqlite', test: (id) => id === VIRTUAL, priority: 3 },
      { name: 'entry', test: ENTRY, priority: 2 },
      { name: 'ahead', test: AHEAD, priority: 2 },
      { name: 'first', test: (id) => isFirst(id) && isUsed(id), priority: 1 },
      { name: 'engine', test: (id) => isSecond(id) && isUsed(id), priority: 1 },
      { name: REST, test: (id) => (isFirst(id) || isSecond(id)) && !isUsed(id), priority: 1 },
    ],
  },
});
await bundle.close();

rmSync(cli, { recursive: true });
renameSync(packed, cli);

// What a run has from each in one read: what starts a sandbox's first process, what tells that what to become, and what is loaded
// while it does.
const PACKS = {
  start: ['rolldown-runtime', 'entry', 'ahead', 'program'],
  first: ['first'],
  engine: ['sqlite', 'engine'],
};
const EXPORT = /Object\.defineProperty\(exports,"([\w$]+)",\{enumerable:!0,get:function\(\)\{return ?(.+?)\}\}\)[,;]/g;
const EXPORTS = new RegExp(`(?:${EXPORT.source})+`);
const KEPT = Object.values(PACKS).flat();
for (const name of KEPT) trim(path.join(cli, `${name}.cjs`));
for (const [pack, chunks] of Object.entries(PACKS)) writePack(packFile(pack), Buffer.alloc(0), textOf(chunks));
writeLauncher();
keepCode();
// Again, with room for what has grown.
writeLauncher();

/** Whether a plain run calls anything of a module, by one run of what was compiled. All of it where this machine has no sandboxes. */
function findUsed() {
  const place = mkdtempSync(path.join(tmpdir(), 'sublet-used-'));
  try {
    runOnce(path.join(cli, 'main.js'), place);
    const coverage = path.join(place, 'coverage');
    const { status } = runOnce(path.join(cli, 'main.js'), place, { NODE_V8_COVERAGE: coverage });
    if (status !== 0) return () => true;
    const [file] = readdirSync(coverage);
    const { result } = JSON.parse(readFileSync(path.join(coverage, file), 'utf8'));
    // The first function of a module is the module itself.
    const used = result.filter(
      ({ url, functions: [, ...own] }) =>
        url.startsWith('file:') && (own.length === 0 || own.some(({ ranges }) => ranges[0].count > 0)),
    );
    const ids = new Set(used.map(({ url }) => fileURLToPath(url)));
    return (id) => ids.has(id) || TAKEN_FROM.test(id);
  } catch {
    return () => true;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** Says something on both streams, as most do. */
function runOnce(main, home, env = {}, preload = []) {
  return spawnSync(process.execPath, [...preload, main, 'run', '--', 'sh', '-c', 'echo said; echo complained >&2'], {
    env: { PATH: process.env.PATH, SUBLET_HOME: home, ...env },
    timeout: 30_000,
  });
}

/**
 * What is wanted late, of Node or of ours, is loaded by whoever uses it first. What a chunk gives to others is a value instead of
 * a getter for each: no export of ours changes. Characters beyond ASCII are written as escapes, so that the text is read without
 * decoding and takes half the memory.
 */
function trim(file) {
  let code = readFileSync(file, 'utf8');
  const late = [];
  for (const builtin of LATE) {
    const name = `node_${builtin.replace('/', '_')}`;
    const required = `${name}=require("node:${builtin}")`;
    if (!code.includes(required)) continue;
    code = code.replace(`${required},`, '').replace(`,${required};`, ';').replace(`let ${required};`, '');
    if (code.includes(required)) throw new Error(`${path.basename(file)} loads ${builtin} in a way that is not known.`);
    code = code.replaceAll(`${name}.`, `$late.${name}.`);
    late.push([name, `node:${builtin}`]);
  }
  const rest = `,require_${REST}=require("./${REST}.cjs")`;
  if (code.includes(rest)) {
    code = code.replace(rest, '').replaceAll(`require_${REST}.`, `$late.${REST}.`);
    late.push([REST, `./${REST}.cjs`]);
  }
  if (code.includes(`require_${REST}`))
    throw new Error(`${path.basename(file)} loads ${REST} in a way that is not known.`);
  const getters = late.map(
    ([name, id]) =>
      `get ${name}(){let value=require("${id}");Object.defineProperty($late,"${name}",{value});return value}`,
  );
  if (late.length > 0) code = `const $late={${getters.join(',')}};${code}`;
  const given = code.match(EXPORTS)?.[0];
  if (given !== undefined) {
    const entries = [...given.matchAll(EXPORT)].map(([, name, value]) => `exports.${name}=${value}`);
    code = code.replace(given, () => `${entries.join(',')};`);
  }
  if (code.includes('defineProperty(exports'))
    throw new Error(`${path.basename(file)} exports in a way that is not known.`);
  writeFileSync(
    file,
    code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

function withVersion(code) {
  const filled = code.replace(`PACKED_WITH = ''`, `PACKED_WITH = '${process.version}'`);
  if (filled === code) throw new Error('bare-handles.js does not ask what it was packed with.');
  return filled;
}

/** The command's first file, which knows what is in which pack, and how large they are. */
function writeLauncher() {
  const table = Object.entries(PACKS).flatMap(([pack, chunks]) => chunks.map((name) => [`${name}.cjs`, pack]));
  const text = readFileSync(path.join(import.meta.dirname, 'launcher.cjs'), 'utf8');
  const largest = Math.max(...Object.keys(PACKS).map((pack) => statSync(packFile(pack)).size));
  const file = path.join(cli, 'main.cjs');
  const filled = text
    .replace('const PACKS = {};', `const PACKS = ${JSON.stringify(Object.fromEntries(table))};`)
    .replace('allocUnsafeSlow(0)', `allocUnsafeSlow(${largest})`);
  writeFileSync(file, filled);
  chmodSync(file, 0o755);
}

/** Chunks as one script, whose value has each as a function, by name. */
function textOf(chunks) {
  const functions = chunks.map((name) => {
    const text = readFileSync(path.join(cli, `${name}.cjs`), 'latin1');
    if (/\bimport\(/.test(text))
      throw new Error(`${name}.cjs imports a package, which only a chunk outside a pack can.`);
    return `"${name}.cjs":function(exports,require,module,__filename,__dirname){${text}\n}`;
  });
  return `({${functions.join(',\n')}})`;
}

function packFile(pack) {
  return path.join(cli, `${pack}.${process.version}-${process.arch}.pack`);
}

/** One run, after which V8 is asked for the code of all it has used. A machine without sandboxes gets as far as it does. */
function keepCode() {
  const home = mkdtempSync(path.join(tmpdir(), 'sublet-pack-'));
  const main = path.join(cli, 'main.cjs');
  try {
    // The second finds the home made, as every later one does.
    runOnce(main, home);
    runOnce(main, home, {}, ['--require', path.join(import.meta.dirname, 'record-code.cjs')]);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
