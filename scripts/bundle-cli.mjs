/**
 * Packs the compiled command line into a few files: Node takes half a millisecond to load a module, and `sublet run`
 * uses 150 of them. What every run needs is one chunk; the rest stays apart and is loaded when it is asked for.
 */
import { chmod, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { rolldown } from 'rolldown';

const dist = path.resolve(import.meta.dirname, '../dist');
const packed = path.join(dist, 'cli-packed');

// What every command needs goes with the entry; what `run` needs is one more file. Modules that a plain run never touches
// stay apart, above all those that load a package when they are loaded themselves.
const ENTRY = /\/dist\/(core\/errors|config\/nearest|cli\/(progress|command|command-table|parse\/command-line))\.js$/;
const HOT =
  /\/dist\/(open\.js|(core|manager|config|store|stores\/sqlite|provider|providers\/namespace)\/|cli\/(commands\/run|with-sandbox|run-in-sandbox|exit-status|parse\/.*)\.js)/;
const COLD =
  /\/(profile-schema|parse-profile|house-keys|cross-field|images|probe|pino-log|stderr-log|install-exit-hooks)\.js$/;

const bundle = await rolldown({
  input: path.join(dist, 'cli/main.js'),
  platform: 'node',
  external: (id) => !id.startsWith('.') && !path.isAbsolute(id),
  preserveEntrySignatures: false,
});
await bundle.write({
  dir: packed,
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  comments: false,
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      { name: 'entry', test: ENTRY, priority: 2 },
      { name: 'engine', test: (id) => HOT.test(id) && !COLD.test(id), priority: 1 },
    ],
  },
});
await bundle.close();

await rm(path.join(dist, 'cli'), { recursive: true });
await rename(packed, path.join(dist, 'cli'));
await chmod(path.join(dist, 'cli/main.cjs'), 0o755);
