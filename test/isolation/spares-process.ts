/** A manager in a mount namespace of its own: has a spare made, mounts something, asks for a sandbox, and says what it got. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { systemClock } from '../../src/core/system-clock.ts';
import { provider as module } from '../../src/providers/namespace/index.ts';
import { inode, makeSpareReady, PLAIN, spares } from './spares.ts';

export interface SpareSeen {
  /** Whether the sandbox is the spare that was there. */
  readonly isTaken: boolean;
  readonly sparesLeft: readonly string[];
  readonly said: string;
}

const [stateDir = ''] = process.argv.slice(2);
const signal = AbortSignal.timeout(50_000);
const log = { debug() {}, info() {}, warn() {} };
const provider = await module.open({ stateDir, clock: systemClock, log, options: {}, secret: () => undefined });
const spare = await makeSpareReady(provider, stateDir);
// Below what every sandbox sees; onto itself, which hides nothing.
await promisify(execFile)('mount', ['--bind', '/usr/share/doc', '/usr/share/doc']);
const sandbox = await provider.create({ ...PLAIN, name: 'asked', labels: {} }, signal);
const seen: SpareSeen = {
  isTaken: (await inode(`${stateDir}/sandboxes/asked`)) === spare,
  sparesLeft: await spares(stateDir),
  said: (await sandbox.commands.run('echo works', { signal })).stdout,
};
await provider.destroy(sandbox.ref, signal);
await provider.close();
process.stdout.write(`${JSON.stringify(seen)}\n`);
