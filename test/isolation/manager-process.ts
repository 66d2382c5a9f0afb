/** A manager in a process of its own, to be killed: makes one sandbox, runs one command in it, says what it said, and waits. */
import type { SandboxSpec } from '../../src/provider/provider.ts';
import { provider as module } from '../../src/providers/namespace/index.ts';
import { systemClock } from '../../src/core/system-clock.ts';

const [stateDir = '', spec = '', command = 'true'] = process.argv.slice(2);
const log = { debug() {}, info() {}, warn() {} };
const provider = await module.open({ stateDir, clock: systemClock, log, options: {}, secret: () => undefined });
const sandbox = await provider.create(JSON.parse(spec) as SandboxSpec, AbortSignal.timeout(30_000));
const { stdout, stderr } = await sandbox.commands.run(command);
process.stdout.write(`${JSON.stringify(stdout + stderr)}\n`);
setInterval(() => undefined, 1_000);
