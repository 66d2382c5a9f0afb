/** The tools inside a session: a shell that ends what takes too long, and metrics. */
import { SubletError } from '../../core/errors.ts';
import type { BackingSandbox, BackingSandboxes } from '../../testing/loopback/backing-sandboxes.ts';
import { CodedRefusal } from './agentbay-refusal.fixture.ts';

interface ToolAnswer {
  readonly isError: boolean;
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
}

interface ShellArgs {
  readonly command?: string;
  readonly timeout_ms?: number;
  readonly cwd?: string;
  readonly envs?: Readonly<Record<string, string>>;
}

const DEFAULT_EXEC_MS = 1_000;

export class SessionTools {
  /** What no command is given more of, whatever it asks for. */
  maxExecMs = 50_000;
  /** Some images answer with the output alone. */
  isRaw = false;
  /** How many commands run now. */
  executing = 0;
  readonly #sandboxes: BackingSandboxes;

  constructor(sandboxes: BackingSandboxes) {
    this.#sandboxes = sandboxes;
  }

  async call(session: BackingSandbox, form: Readonly<Record<string, string | undefined>>): Promise<ToolAnswer> {
    const args: unknown = JSON.parse(form['Args'] ?? '{}');
    switch (form['Name']) {
      case 'shell':
        return this.#shell(session, args as ShellArgs);
      case 'get_metrics':
        return this.#metrics(session);
      default:
        throw new CodedRefusal(400, 'InvalidMcpTool.NotFound', `Resource [McpTool] is not found.`);
    }
  }

  async #shell(session: BackingSandbox, args: ShellArgs): Promise<ToolAnswer> {
    if (args.command === undefined) return failed('command is required');
    const chunks: Record<'stdout' | 'stderr', Uint8Array[]> = { stdout: [], stderr: [] };
    this.executing++;
    try {
      const { exitCode, timedOut } = await session.handle.commands.run(['sh', '-c', args.command], {
        cwd: args.cwd,
        env: args.envs,
        timeoutMs: Math.min(args.timeout_ms ?? DEFAULT_EXEC_MS, this.maxExecMs),
        maxOutputBytes: 0,
        onStdout: (chunk) => void chunks.stdout.push(Uint8Array.from(chunk)),
        onStderr: (chunk) => void chunks.stderr.push(Uint8Array.from(chunk)),
      });
      if (timedOut) return failed('Execution failed. Error code:-1 Error message: [timeout]');
      const [stdout, stderr] = [Buffer.concat(chunks.stdout).toString(), Buffer.concat(chunks.stderr).toString()];
      const isError = exitCode !== 0;
      if (this.isRaw) return text(isError ? stderr : stdout, isError);
      return text(JSON.stringify({ stdout, stderr, exit_code: exitCode ?? -1 }), isError);
    } catch (error) {
      if (SubletError.is(error, 'SANDBOX_LOST'))
        throw new CodedRefusal(400, 'InvalidMcpSession.NotFound', 'Resource [McpSession] is not found.');
      throw error;
    } finally {
      this.executing--;
    }
  }

  async #metrics({ id }: BackingSandbox): Promise<ToolAnswer> {
    const { memoryBytes = 0, memoryLimitBytes = 8 * 1024 ** 3, diskBytes = 0 } = await this.#sandboxes.metrics(id);
    const told = {
      cpu_count: 4,
      cpu_used_pct: 1.5,
      mem_total: memoryLimitBytes,
      mem_used: memoryBytes,
      disk_total: 100 * 1024 ** 3,
      disk_used: diskBytes,
      rx_rate_kbyte_per_s: 0,
      tx_rate_kbyte_per_s: 0,
      timestamp: new Date().toISOString(),
    };
    return text(JSON.stringify(told), false);
  }
}

function text(said: string, isError: boolean): ToolAnswer {
  return { isError, content: [{ type: 'text', text: said }] };
}

function failed(reason: string): ToolAnswer {
  return text(reason, true);
}
