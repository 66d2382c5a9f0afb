/** A terminal of LangSmith's. It speaks text: what is not UTF-8 does not pass. */
import type { CommandHandle } from 'langsmith/sandbox';
import type { TerminalChannel, TerminalRequest } from '../../provider/posix/inside/inside-terminal.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { BoxShell } from './box-shell.ts';

/** The SDK keeps all that came through a connection; another one begins with nothing. */
const CONNECTION_CHARS = 8 * 1024 * 1024;

export async function openLangsmithTerminal(shell: BoxShell, request: TerminalRequest): Promise<TerminalChannel> {
  const words = request.argv.map(shellQuote).join(' ');
  let handle = await shell.openTerminal(`exec ${words}`, request.env);
  let take: (chunk: Uint8Array) => void = () => undefined;
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const follow = async (): Promise<number> => {
    await begun;
    for (;;) {
      if (await drain(handle, (chunk) => take(chunk))) return (await handle.result).exit_code;
      handle = await handle.reconnect();
    }
  };
  return {
    exit: follow().catch(() => null),
    onData: (consume) => {
      take = consume;
      begin();
    },
    write: (data) => {
      handle.sendInput(typeof data === 'string' ? data : Buffer.from(data).toString());
      return Promise.resolve();
    },
    // It has no word for it: `stty` inside does it.
    resize: () => Promise.resolve(),
  };
}

/** True when the command has ended, false when this connection has carried enough. */
async function drain(handle: CommandHandle, take: (chunk: Uint8Array) => void): Promise<boolean> {
  let chars = 0;
  for await (const { data } of handle) {
    take(Buffer.from(data));
    chars += data.length;
    if (chars > CONNECTION_CHARS) return false;
  }
  return true;
}
