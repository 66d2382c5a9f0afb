/** Preloaded while the command line is packed: at the end of the run it keeps what V8 has made of every pack. */
'use strict';
const vm = require('node:vm');
const { writePack } = require('./pack-file.cjs');

const scripts = [];
const { Script } = vm;

vm.Script = class extends Script {
  constructor(source, options) {
    super(source, options);
    scripts.push({ file: options.filename, script: this, source });
  }
};

process.on('exit', () => {
  for (const { file, script, source } of scripts) writePack(file, script.createCachedData(), source);
});
