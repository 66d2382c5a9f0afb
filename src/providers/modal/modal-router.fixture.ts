/** What runs beside every sandbox of Modal: it starts programs, keeps what they write until it is read, and takes snapshots. */
import type { IncomingHttpHeaders } from 'node:http2';
import type { CommandResult } from '../../core/commands.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { BackingSandbox } from '../../testing/loopback/backing-sandboxes.ts';
import { GRPC, type GrpcCall, type GrpcHandler, GrpcRefusal, type GrpcService } from './grpc-server.fixture.ts';
import { KeptOutput } from './kept-output.fixture.ts';
import { modalProtocol } from './modal-protocol.fixture.ts';
import { OpenInput } from './open-input.fixture.ts';

interface OfExec {
  readonly taskId: string;
  readonly execId: string;
}

interface StartRequest extends OfExec {
  readonly commandArgs: readonly string[];
  readonly workdir?: string | undefined;
  readonly ptyInfo?: { readonly enabled: boolean } | undefined;
  readonly secretSources: readonly { readonly env?: { readonly contents: Readonly<Record<string, string>> } }[];
}

interface Exec {
  readonly taskId: string;
  readonly stdin: OpenInput;
  readonly streams: readonly [KeptOutput, KeptOutput];
  readonly ended: Promise<CommandResult>;
}

export interface CommandRouterOptions {
  find(taskId: string): BackingSandbox | undefined;
  snapshot(snapshotId: string, sandbox: BackingSandbox): Promise<string>;
}

/** The longest list of words that a program is started with. */
const MAX_ARGUMENTS = 65_536;
/** What has ended can be asked about until so many others have. */
const KEPT_EXECS = 64;

export class CommandRouter {
  readonly service: GrpcService;
  /** How many programs run now. */
  executing = 0;
  readonly #options: CommandRouterOptions;
  readonly #execs = new Map<string, Exec>();
  readonly #ended: string[] = [];
  readonly #tokens = new Map<string, string>();

  constructor(options: CommandRouterOptions) {
    this.#options = options;
    const { TaskCommandRouterDefinition } = modalProtocol();
    this.service = {
      definition: TaskCommandRouterDefinition,
      handlers: this.#handlers(),
      authorize: (_method, headers) => this.#authorize(headers),
    };
  }

  /** Remembers which task the token is for. */
  tokenFor(taskId: string, token: string): string {
    this.#tokens.set(`Bearer ${token}`, taskId);
    return token;
  }

  /** The task is over: what is asked of it from now on is refused. */
  forget(taskId: string): void {
    for (const [id, exec] of this.#execs) {
      if (exec.taskId !== taskId) continue;
      this.#execs.delete(id);
      for (const stream of exec.streams) stream.end(gone(taskId));
      exec.stdin.close();
    }
  }

  #authorize(headers: IncomingHttpHeaders): void {
    if (!this.#tokens.has(headers.authorization ?? ''))
      throw new GrpcRefusal(GRPC.UNAUTHENTICATED, 'Invalid task token');
  }

  #handlers(): Readonly<Record<string, GrpcHandler>> {
    return {
      TaskExecStart: async (request: StartRequest) => this.#start(request),
      TaskExecStdinWrite: async (request: OfExec & { offset: number; data: Uint8Array; eof: boolean }) => {
        await this.#exec(request).stdin.write(request.offset, request.data, request.eof);
        return {};
      },
      TaskExecStdioRead: (request: OfExec & { offset: number; fileDescriptor: 0 | 1 }, { signal }: GrpcCall) =>
        this.#exec(request).streams[request.fileDescriptor].read(request.offset, signal),
      TaskExecWait: async (request: OfExec) => this.#wait(request),
      TaskSnapshotFilesystem: async ({ taskId, snapshotId }: { taskId: string; snapshotId: string }) => ({
        imageId: await this.#options.snapshot(snapshotId, this.#sandbox(taskId)),
      }),
    };
  }

  /** The same exec id again is the same program. */
  #start({ taskId, execId, commandArgs, workdir, secretSources, ptyInfo }: StartRequest): unknown {
    const { handle } = this.#sandbox(taskId);
    if (this.#execs.has(execId)) return {};
    const [program, ...words] = commandArgs;
    if (program === undefined || commandArgs.join('').length > MAX_ARGUMENTS)
      throw new GrpcRefusal(GRPC.INVALID_ARGUMENT, 'No program, or more words than it can be started with');
    const [stdin, stdout, stderr] = [new OpenInput(), new KeptOutput(), new KeptOutput()];
    const env = Object.assign({}, ...secretSources.map((source) => source.env?.contents)) as Record<string, string>;
    const ended = handle.commands.run(ptyInfo?.enabled === true ? inTerminal(commandArgs) : [program, ...words], {
      ...(workdir === undefined ? {} : { cwd: workdir }),
      env,
      stdin,
      maxOutputBytes: 0,
      onStdout: (chunk) => stdout.push(chunk),
      onStderr: (chunk) => stderr.push(chunk),
    });
    this.#execs.set(execId, { taskId, stdin, streams: [stdout, stderr], ended });
    this.executing++;
    const over = (error?: GrpcRefusal): void => {
      this.executing--;
      stdin.close();
      for (const stream of [stdout, stderr]) stream.end(error);
      this.#ended.push(execId);
      if (this.#ended.length > KEPT_EXECS) this.#execs.delete(this.#ended.shift() ?? '');
    };
    ended.then(
      () => over(),
      (error: unknown) => over(new GrpcRefusal(GRPC.UNAVAILABLE, String(error))),
    );
    return {};
  }

  async #wait(request: OfExec): Promise<unknown> {
    const { taskId, ended } = this.#exec(request);
    const { exitCode, signal } = await ended.catch(() => Promise.reject(gone(taskId)));
    if (this.#options.find(taskId) === undefined) throw gone(taskId);
    return exitCode === null ? { signal: signal === 'SIGTERM' ? 15 : 9 } : { code: exitCode };
  }

  #sandbox(taskId: string): BackingSandbox {
    const sandbox = this.#options.find(taskId);
    if (sandbox === undefined || sandbox.state !== 'running') throw gone(taskId);
    return sandbox;
  }

  #exec({ taskId, execId }: OfExec): Exec {
    const exec = this.#execs.get(execId);
    if (exec === undefined) throw gone(taskId);
    return exec;
  }
}

function gone(taskId: string): GrpcRefusal {
  return new GrpcRefusal(GRPC.NOT_FOUND, `Task ${taskId} not found`);
}

/** One of the sandbox's own, as a container has it: programs in it can open it. */
function inTerminal(words: readonly string[]): [string, ...string[]] {
  return ['script', '-qefc', words.map(shellQuote).join(' '), '/dev/null'];
}
