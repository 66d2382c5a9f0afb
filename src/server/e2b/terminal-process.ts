/** A process in a terminal. */
import type { Commands, RunningCommand } from '../../core/commands.ts';
import type { Follower, ProcessEnd, ProcessRequest, PtySize, ServedProcess, Signal } from './served-process.ts';
import { toEnd } from './served-process.ts';

export class TerminalProcess implements ServedProcess {
  readonly pid: number;
  readonly request: ProcessRequest;
  readonly ended: Promise<ProcessEnd>;
  readonly #command: RunningCommand;
  readonly #followers = new Set<Follower>();

  static async start(
    commands: Commands,
    pid: number,
    request: ProcessRequest,
    first: Follower,
  ): Promise<TerminalProcess> {
    const { cmd, args, cwd, envs, pty } = request;
    const command = await commands.start([cmd, ...args], { cwd, env: envs, pty: pty ?? { cols: 80, rows: 24 } });
    return new TerminalProcess(command, pid, request, first);
  }

  private constructor(command: RunningCommand, pid: number, request: ProcessRequest, firstFollower: Follower) {
    this.#command = command;
    this.pid = pid;
    this.request = request;
    this.#followers.add(firstFollower);
    this.ended = this.#run();
    this.ended.catch(() => undefined);
  }

  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  write(data: Uint8Array): Promise<void> {
    return this.#command.writeStdin(data);
  }

  closeInput(): Promise<void> {
    return this.#command.closeStdin();
  }

  resize(size: PtySize): Promise<void> {
    return this.#command.resize(size);
  }

  signal(signal: Signal): Promise<void> {
    return this.#command.kill(signal);
  }

  async #run(): Promise<ProcessEnd> {
    for await (const chunk of this.#command.stream('stdout')) {
      await Promise.all([...this.#followers].flatMap((follower) => follower('pty', chunk) ?? []));
    }
    const { exitCode, signal } = await this.#command.wait();
    return toEnd(exitCode, signal);
  }
}
