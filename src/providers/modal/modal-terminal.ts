/** A terminal of Modal's: an exec with one. It begins at Modal's own size; from then on the sandbox's `stty` sets it. */
import { sleep } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { TerminalChannel, TerminalRequest } from '../../provider/posix/inside/inside-terminal.ts';
import type { ProcessPlace } from './modal-process.ts';

/** What was written last may come after the exit code. */
const SETTLE_MS = 1_000;

export async function openModalTerminal(
  { clock, sandbox, left, explain }: ProcessPlace,
  { argv, env }: TerminalRequest,
): Promise<TerminalChannel> {
  const process = await sandbox
    .exec([...argv], { mode: 'binary', env: { ...env }, pty: true, stderr: 'ignore' })
    .catch(async (cause: unknown) => {
      throw await explain(cause);
    });
  const over = new AbortController();
  const leave = (): void => over.abort();
  left.addEventListener('abort', leave, { once: true });
  const early: Uint8Array[] = [];
  let take = (chunk: Uint8Array): void => void early.push(chunk);
  const read = async (): Promise<void> => {
    for await (const chunk of process.stdout) take(chunk);
  };
  // A terminal that nobody can read any more has no end that is known.
  const isRead = read().catch(leave);
  const exit = process._wait(over.signal).then(
    async (exitCode) => {
      await Promise.race([isRead, sleep(clock, SETTLE_MS, over.signal).catch(() => undefined)]);
      return over.signal.aborted ? null : exitCode;
    },
    () => null,
  );
  void exit.then(() => left.removeEventListener('abort', leave));
  const writer = process.stdin.getWriter();
  writer.closed.catch(() => undefined);
  return {
    exit,
    onData: (consume) => {
      for (const chunk of early.splice(0)) consume(chunk);
      take = consume;
    },
    write: (data) =>
      writer.write(Buffer.from(data as string)).catch(async (cause: unknown) => {
        throw await explain(cause);
      }),
    resize: () =>
      Promise.reject(
        new SubletError('UNSUPPORTED', 'The size of a terminal at Modal is changed by stty, which the image lacks.', {
          hint: 'Use an image with coreutils or busybox.',
        }),
      ),
  };
}
