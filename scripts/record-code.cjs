/** Preloaded while the command line is packed: at the end of the run it keeps what V8 has made of every chunk. */
'use strict';
const { writeFileSync } = require('node:fs');
const vm = require('node:vm');

const scripts = [];
const { Script } = vm;

vm.Script = class extends Script {
  constructor(source, options) {
    super(source, options);
    scripts.push([options.filename, this]);
  }
};

process.on('exit', () => {
  for (const [filename, script] of scripts)
    writeFileSync(`${filename}.${process.version}-${process.arch}.code`, script.createCachedData());
});
