/** A shell inside a sandbox that has its streams and waits for one script: how it is given that, and what it says at its end. */
import type { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { PipeReader } from '../../provider/posix/pipe-reader.ts';
import type { ProcessExit } from '../../provider/posix/run-process.ts';
import type { Setup } from './setup.ts';
import type { SlotPipes } from './channel.ts';
import { armedScript } from '../../provider/posix/command-script.ts';

export interface ArmedShell {
  readonly stdout: PipeReader;
  readonly stderr: PipeReader;
  readonly exit: Promise<ProcessExit>;
  /** Hands over the script; returns its standard input when it was asked for. */
  start(script: string, stdin: boolean): Socket | null;
  /** Nobody waits for it any more. One that was not started ends; a command that still runs goes on without its streams. */
  leave(): void;
}

export const UNKNOWN_EXIT: ProcessExit = { exitCode: null, signal: undefined };
/** A shell is armed well before this, also on a busy machine, unless somebody inside has stopped it. */
export const ARM_WITHIN_MS = 10_000;

/** The one shell that comes with a sandbox which expects one command. */
export class OnlyShell {
  readonly #pipes: SlotPipes;
  readonly #setup: Setup;
  readonly #clock: Clock;

  constructor(pipes: SlotPipes, setup: Setup, clock: Clock) {
    this.#pipes = pipes;
    this.#setup = setup;
    this.#clock = clock;
  }

  /** May be called once. Its pipes have no other end before it is armed, and would seem to be over. */
  async take(): Promise<ArmedShell> {
    const [pipes, setup] = [this.#pipes, this.#setup];
    const leave = (): void => {
      discardPipes(pipes);
      setup.setStatusReferenced(false);
    };
    // A waiting shell does not keep this process alive; a command does.
    setup.setStatusReferenced(true);
    const exit = setup.line('x').then(
      (said) => exitFrom(said.split(' ')[1]),
      () => UNKNOWN_EXIT,
    );
    void exit.then(() => setup.setStatusReferenced(false));
    let cancel = (): void => undefined;
    const stuck = new Promise<SubletError>((resolve) => {
      cancel = this.#clock.schedule(ARM_WITHIN_MS, () => resolve(shellStuck()), { ref: false });
    });
    const armed = setup.line('a').then(() => undefined, shellEnded);
    // It can be killed before it is armed while the sandbox lives on: then its pipe ends.
    const ended = Promise.race([exit, setup.heard]).then(shellEnded);
    const failure = await Promise.race([armed, ended, stuck]);
    cancel();
    if (failure !== undefined) {
      leave();
      throw failure;
    }
    const { stdout, stderr } = pipes;
    return { stdout, stderr, exit, start: (script, stdin) => handOver(pipes, script, stdin), leave };
  }

  /** It is not wanted after all, and ends. */
  close(): void {
    discardPipes(this.#pipes);
  }
}

/** The pipe is open to the agent too: what is no exit code is none. */
export function exitFrom(code: string | undefined): ProcessExit {
  return /^\d{1,3}$/u.test(code ?? '') ? { exitCode: Number(code), signal: undefined } : UNKNOWN_EXIT;
}

export function handOver({ script: pipe }: SlotPipes, script: string, stdin: boolean): Socket | null {
  if (stdin) return pipe.begin(armedScript(script, true));
  pipe.end(armedScript(script, false));
  return null;
}

/** Without its script an armed shell reads the end of its input and is done. */
export function discardPipes(pipes: SlotPipes): void {
  for (const stream of [pipes.script, pipes.stdout, pipes.stderr]) stream.destroy();
}

export function shellEnded(): SubletError {
  return new SubletError('SANDBOX_LOST', 'The shell inside the sandbox ended.', {
    hint: 'Run the command again: a new shell is started if the sandbox lives.',
  });
}

export function shellStuck(): SubletError {
  return new SubletError(
    'PROVIDER_UNAVAILABLE',
    `No shell inside the sandbox got ready within ${ARM_WITHIN_MS / 1000} s.`,
    { hint: 'The sandbox is paused, short of processor time, or stops its own shells. Try again, or destroy it.' },
  );
}
