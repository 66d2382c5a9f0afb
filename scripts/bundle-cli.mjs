/**
 * Packs the compiled command line into a few files: Node takes half a millisecond to load a module, and `sublet run`
 * uses 150 of them. What every run needs is one chunk; the rest stays apart and is loaded when it is asked for.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rolldown } from 'rolldown';

const dist = path.resolve(import.meta.dirname, '../dist');
const packed = path.join(dist, 'cli-packed');
const cli = path.join(dist, 'cli');

// What every command needs goes with the entry; what `run` needs is three more files: what it takes to start a sandbox's
// first process, what it takes to tell that what to become, and what is loaded while it does. Modules that a plain run never
// touches stay apart, above all those that load a package when they are loaded themselves.
const ENTRY = /\/dist\/(core\/errors|config\/nearest|cli\/(progress|command|command-table|parse\/command-line))\.js$/;
const AHEAD =
  /\/dist\/(head-start|automatic-provider|provider\/posix\/(inherited-descriptors|own-turn)|providers\/namespace\/(early-setup|setup|setup-script|privileges|layout|namespace-errors))\.js$/;
const FIRST =
  /\/dist\/((open|watch)\.js|(core|config|provider|providers\/namespace)\/|providers\/registry\.gen\.js|telemetry\/log\.js|cli\/(commands\/run|with-sandbox|run-alone|run-in-sandbox|exit-status|parse\/.*)\.js)/;
const SECOND = /\/dist\/(manager|store|stores\/sqlite)\//;
const COLD =
  /\/(posix\/inside|provider\/service)\/|\/(profile-schema|images|probe|pino-log|pty-command|stderr-log|install-exit-hooks|snapshot-files)\.js$/;

const LATE = ['crypto', 'fs/promises', 'stream/promises', 'url'];

// Packed too, because to find it by its name takes longer than to load it. Its native part stays in its own package: beside
// ours, or below it in a checkout.
const SQLITE = '@photostructure/sqlite';
const PACKED = [SQLITE, 'node-gyp-build'];
const SQLITE_DIRECTORY = `["../../..", "../../node_modules"].map((up) => \`\${__dirname}/\${up}/${SQLITE}/dist\`)
  .find((dir) => require("node:fs").existsSync(dir)) ?? require("node:path").dirname(require.resolve("${SQLITE}"))`;

// The file that is nearly always the one, opened by its name: to look for it takes four times as long. Where it is not
// there, or is for another C library, it is looked for.
const OPEN_NATIVE = `function openNative(root) {
  const native = { exports: {} };
  try {
    process.dlopen(native, \`\${root}/prebuilds/\${process.platform}-\${process.arch}/${SQLITE.replace('/', '+')}.glibc.node\`);
    return native.exports;
  } catch {
    return undefined;
  }
}`;

const bundle = await rolldown({
  input: { program: path.join(cli, 'main.js') },
  platform: 'node',
  plugins: [{ name: 'sqlite', transform: (code, id) => (id.includes(`/${SQLITE}/`) ? placed(code) : null) }],
  external: (id) => !id.startsWith('.') && !path.isAbsolute(id) && !PACKED.includes(id),
  preserveEntrySignatures: false,
});
await bundle.write({
  dir: packed,
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  comments: false,
  // Names are left: they are what a stack is read by.
  minify: { mangle: false, compress: true, codegen: true },
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      { name: 'sqlite', test: /\/node_modules\//, priority: 3 },
      { name: 'entry', test: ENTRY, priority: 2 },
      { name: 'ahead', test: AHEAD, priority: 2 },
      { name: 'first', test: (id) => FIRST.test(id) && !COLD.test(id), priority: 1 },
      { name: 'engine', test: (id) => SECOND.test(id) && !COLD.test(id), priority: 1 },
    ],
  },
});
await bundle.close();

rmSync(cli, { recursive: true });
renameSync(packed, cli);
copyFileSync(path.join(import.meta.dirname, 'launcher.cjs'), path.join(cli, 'main.cjs'));
chmodSync(path.join(cli, 'main.cjs'), 0o755);
for (const name of PACKED)
  copyFileSync(path.join(dist, '../node_modules', name, 'LICENSE'), path.join(cli, `${path.basename(name)}.LICENSE`));
const KEPT = ['program', 'entry', 'ahead', 'first', 'engine', 'sqlite', 'rolldown-runtime'];
for (const name of KEPT) trim(path.join(cli, `${name}.cjs`));
keepCode(KEPT);

/**
 * Node's own modules that take long to load and are wanted late are loaded by whoever uses them first. Characters beyond
 * ASCII are written as escapes, so that the text is read without decoding and takes half the memory.
 */
function trim(file) {
  let code = readFileSync(file, 'utf8');
  for (const builtin of LATE) {
    const name = `node_${builtin.replace('/', '_')}`;
    const required = `${name}=require("node:${builtin}")`;
    if (!code.includes(required)) continue;
    code = code.replace(`${required},`, '').replace(`,${required};`, ';').replace(`let ${required};`, '');
    if (code.includes(required)) throw new Error(`${path.basename(file)} loads ${builtin} in a way that is not known.`);
    code = code.replaceAll(`${name}.`, `require("node:${builtin}").`);
  }
  writeFileSync(
    file,
    code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** One run, after which V8 is asked for the code of all it has used. A machine without sandboxes gets as far as it does. */
function keepCode(chunks) {
  for (const name of chunks)
    if (/\bimport\(/.test(readFileSync(path.join(cli, `${name}.cjs`), 'utf8')))
      throw new Error(`${name}.cjs imports a package, which only a chunk without kept code can.`);
  const files = chunks.map((name) => path.join(cli, `${name}.cjs.${process.version}-${process.arch}.code`));
  // Empty is refused and made anew; without a file the launcher would not ask.
  for (const file of files) writeFileSync(file, '');
  const home = mkdtempSync(path.join(tmpdir(), 'sublet-pack-'));
  const recorder = path.join(import.meta.dirname, 'record-code.cjs');
  const run = (...command) =>
    spawnSync(process.execPath, [...command, path.join(cli, 'main.cjs'), 'run', '--', 'true'], {
      env: { PATH: process.env.PATH, SUBLET_HOME: home },
      stdio: 'ignore',
      timeout: 30_000,
    });
  try {
    // The second finds the home made, as every later one does.
    run();
    run('--require', recorder);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function placed(code) {
  const there = code.replace('return __dirname;', `return ${SQLITE_DIRECTORY};`);
  const found = there.replace(/= (\w+)\(((?:\w+)\(_dirname\(\), "\.\."\))\);/, '= openNative($2) ?? $1($2);');
  if (there === code || found === there) throw new Error(`${SQLITE} no longer looks for its native part as it did.`);
  return `${found}\n${OPEN_NATIVE}`;
}
