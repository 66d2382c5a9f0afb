/** Starts a resident shell in a sandbox that another process made, or whose own shell was killed or stopped. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import { withoutInherited } from '../../provider/posix/inherited-descriptors.ts';
import { ownTurn } from '../../provider/posix/own-turn.ts';
import { newTagGroup } from '../../provider/posix/process-tree.ts';
import { Channel } from './channel.ts';
import { enterLine } from './enter-line.ts';
import { type SandboxPaths, WORKDIR } from './layout.ts';
import { lostError } from './namespace-errors.ts';
import type { PipeStock } from './pipe-stock.ts';
import { BASE_ENV, type Privileges } from './privileges.ts';
import { ResidentShell } from './resident-shell.ts';
import { isRunning, type SandboxRecord } from './sandbox-record.ts';

export interface EnterContext {
  readonly record: SandboxRecord;
  readonly paths: SandboxPaths;
  readonly privileges: Privileges;
  readonly stock: PipeStock;
  readonly clock: Clock;
}

/** It is inside well before this, also on a busy machine, unless somebody there has stopped it. */
const ENTER_WITHIN_MS = 10_000;

export async function enterSandbox({ record, paths, privileges, stock, clock }: EnterContext): Promise<ResidentShell> {
  if (!(await isRunning(record))) throw lostError(record.name);
  const channel = new Channel(paths.channel, `${process.pid}-${newTagGroup()}-`, stock);
  await channel.makeResident();
  const [program = '', ...args] = enterLine(privileges, record);
  const script = `cd ${WORKDIR}; exec sh /run/sublet/scripts/resident "$1"`;
  const stdio = withoutInherited(['ignore', 'ignore', 'pipe', 'ignore', 'pipe']);
  const listen = async (): Promise<void> => {
    await ownTurn();
    const child = spawn(program, [...args, 'sh', '-c', script, 'sh', channel.name], {
      detached: true,
      cwd: '/',
      env: BASE_ENV,
      stdio,
    });
    child.unref();
    await said(child, record.name, clock);
  };
  return ResidentShell.open(channel, listen, clock);
}

/** Resolves with the first status line; rejects with what the way in said when it ends instead or takes too long. */
function said(child: ChildProcess, name: string, clock: Clock): Promise<void> {
  const [, , stderr, , status] = child.stdio as unknown as [null, null, Socket, null, Socket];
  let errors = '';
  stderr.on('data', (chunk: Buffer) => {
    if (errors.length < 2_000) errors += chunk.toString();
  });
  let cancel = (): void => undefined;
  return new Promise<void>((resolve, reject) => {
    status.once('data', () => resolve());
    const fail = (): void =>
      reject(
        new SubletError('PROVIDER_UNAVAILABLE', `The sandbox ${name} could not be entered: ${errors.trim()}`, {
          hint: 'Try again; if it stays so, destroy the sandbox.',
        }),
      );
    child.once('error', fail);
    child.once('close', fail);
    cancel = clock.schedule(
      ENTER_WITHIN_MS,
      () => {
        errors += `no answer within ${ENTER_WITHIN_MS / 1000} s`;
        child.kill('SIGKILL');
        fail();
      },
      { ref: false },
    );
  }).finally(() => {
    cancel();
    stderr.destroy();
    status.destroy();
  });
}
