/** A pack: what V8 made of a script and the script's text, in one file that is read at once. */
'use strict';
const { writeFileSync } = require('node:fs');

const HEADER_BYTES = 16;

/** The lengths of both parts first. The code begins where V8 can use it in place. */
function writePack(file, code, text) {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(code.length, 0);
  header.writeUInt32LE(text.length, 4);
  writeFileSync(file, Buffer.concat([header, code, Buffer.from(text, 'latin1')]));
}

module.exports = { writePack };
