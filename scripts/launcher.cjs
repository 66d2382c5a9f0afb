#!/usr/bin/env node
/**
 * The command's first file. What every run needs lies in a few packs, in the order in which a run wants them: chunks, and the
 * code that V8 made of them when they were packed, for one version of Node. With it nothing is parsed or compiled again.
 * Elsewhere, and where a pack cannot be read, the chunks load as usual.
 */
'use strict';
const { closeSync, openSync, readSync } = require('node:fs');
const { Script } = require('node:vm');

const HEADER_BYTES = 16;
/** By chunk. */
const PACKS = {};
/** Every pack in turn: V8 keeps nothing of it. */
const room = Buffer.allocUnsafeSlow(0);
const opened = {};

/** What `require` gives, by the chunk's file name. */
function load(name) {
  const filename = `${__dirname}/${name}`;
  const known = require.cache[filename];
  if (known !== undefined) return known.exports;
  const pack = PACKS[name];
  const run = pack === undefined ? undefined : (opened[pack] ??= open(pack))[name];
  if (run === undefined) return require(filename);
  const chunk = { id: filename, filename, exports: {}, children: [], loaded: true };
  // Where a chunk that is loaded as usual finds this one.
  require.cache[filename] = chunk;
  try {
    run(chunk.exports, requireFrom, chunk, filename, __dirname);
  } catch (error) {
    // Whoever asks again is told again.
    delete require.cache[filename];
    throw error;
  }
  return chunk.exports;
}

function requireFrom(id) {
  return id.startsWith('./') ? load(id.slice(2)) : require(id);
}

requireFrom.resolve = require.resolve;

/** Its chunks by name, as functions; none where there is no such pack for this Node, or it was cut short. */
function open(pack) {
  const filename = `${__dirname}/${pack}.${process.version}-${process.arch}.pack`;
  try {
    const fd = openSync(filename);
    const length = readSync(fd, room, 0, room.length, 0);
    closeSync(fd);
    const start = HEADER_BYTES + room.readUInt32LE(0);
    if (length < HEADER_BYTES || length !== start + room.readUInt32LE(4)) return {};
    const cachedData = start === HEADER_BYTES ? undefined : room.subarray(HEADER_BYTES, start);
    return new Script(room.latin1Slice(start, length), { filename, cachedData }).runInThisContext();
  } catch {
    return {};
  }
}

load('program.cjs');
