/** A terminal of Daytona's: it always runs a login shell, which is told to become the command. */
import { randomBytes } from 'node:crypto';
import type { Process } from '@daytona/sdk';
import { keepScript, type ShellCall } from '../../provider/posix/inside/called-process.ts';
import type { TerminalChannel, TerminalRequest } from '../../provider/posix/inside/inside-terminal.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import { translated } from './daytona-errors.ts';

/** What the script writes before it becomes the command. What came before is the shell's: greeting, prompt, echo. */
const READY = '\u001e\u001e';

export async function openSdkTerminal(
  process: Process,
  call: ShellCall,
  request: TerminalRequest,
): Promise<TerminalChannel> {
  const id = randomBytes(12).toString('hex');
  const words = request.argv.map(shellQuote).join(' ');
  // In a file: a terminal takes no line above 4 KiB.
  const kept = await keepScript(call, id, `rm -f "$0"\nprintf '\\036\\036'\nexec ${words}\n`);
  const output = new CommandOutput();
  const { cols, rows } = request.size;
  const onData = (data: Uint8Array): void => output.push(data);
  const pty = await translated(process.createPty({ id: `sublet-${id}`, cols, rows, envs: { ...request.env }, onData }));
  await translated(pty.sendInput(` exec sh -c ${shellQuote(`exec ${kept}`)}\r`));
  return {
    exit: pty.wait().then(
      ({ exitCode }) => exitCode ?? null,
      () => null,
    ),
    onData: (take) => output.passTo(take),
    write: (data) => translated(pty.sendInput(data)),
    resize: async (size) => void (await translated(pty.resize(size.cols, size.rows))),
  };
}

/** What the command itself writes, kept until somebody takes it. */
class CommandOutput {
  #seen: Buffer | undefined = Buffer.alloc(0);
  #early: Uint8Array[] = [];
  #take: ((chunk: Uint8Array) => void) | undefined;

  passTo(take: (chunk: Uint8Array) => void): void {
    this.#take = take;
    for (const chunk of this.#early.splice(0)) take(chunk);
  }

  push(chunk: Uint8Array): void {
    if (this.#seen === undefined) return this.#give(Uint8Array.from(chunk));
    this.#seen = Buffer.concat([this.#seen, chunk]);
    const at = this.#seen.indexOf(READY);
    if (at === -1) return;
    const rest = this.#seen.subarray(at + READY.length);
    this.#seen = undefined;
    if (rest.length > 0) this.#give(rest);
  }

  #give(chunk: Uint8Array): void {
    if (this.#take === undefined) this.#early.push(chunk);
    else this.#take(chunk);
  }
}
