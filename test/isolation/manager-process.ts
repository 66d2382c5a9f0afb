/** A manager in a process of its own, to be killed: makes one sandbox, runs one command in it, says what it said, and waits. */
import type { SandboxSpec } from '../../src/provider/provider.ts';
import { provider as module } from '../../src/providers/namespace/index.ts';

const [stateDir = '', spec = '', command = 'true'] = process.argv.slice(2);
const provider = await module.open({
  stateDir,
  clock: {
    now: () => Date.now(),
    schedule(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  },
  log: { debug() {}, info() {}, warn() {} },
  options: {},
  secret: () => undefined,
});
const sandbox = await provider.create(JSON.parse(spec) as SandboxSpec, AbortSignal.timeout(30_000));
const { stdout, stderr } = await sandbox.commands.run(command);
process.stdout.write(`${JSON.stringify(stdout + stderr)}\n`);
setInterval(() => undefined, 1_000);
