#!/usr/bin/env node
/**
 * The command's first file. Beside each of the chunks that every run needs lies the code that V8 made of it when it was
 * packed, for one version of Node: with it nothing is parsed or compiled again. Elsewhere the chunks load as usual.
 */
'use strict';
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { Script } = require('node:vm');

/** What `require` gives, by the chunk's file name. */
function load(name) {
  const filename = join(__dirname, name);
  const known = require.cache[filename];
  if (known !== undefined) return known.exports;
  const cachedData = read(`${filename}.${process.version}-${process.arch}.code`);
  if (cachedData === undefined) return require(filename);
  const source = `(function(exports,require,module,__filename,__dirname){${readFileSync(filename, 'latin1')}\n})`;
  const script = new Script(source, { filename, cachedData });
  const chunk = { id: filename, filename, exports: {}, children: [], loaded: true };
  // Where a chunk that is loaded as usual finds this one.
  require.cache[filename] = chunk;
  script.runInThisContext()(chunk.exports, requireFrom, chunk, filename, __dirname);
  return chunk.exports;
}

function requireFrom(id) {
  return id.startsWith('./') ? load(id.slice(2)) : require(id);
}

requireFrom.resolve = require.resolve;

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

load('program.cjs');
