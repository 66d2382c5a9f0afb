/** One line on stderr that says what is being waited for: only on a terminal, only when it takes a while. */
import type { Terminal } from './terminal.ts';

const SHOW_AFTER_MS = 300;
const FRAME_MS = 80;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const ERASE_LINE = '\r\u001b[K';

export interface Progress {
  /** Clears the line. Twice is harmless. */
  stop(): void;
}

const NONE: Progress = { stop() {} };

let shown = '';

/** Changes what the line says, when there is one. */
export function updateProgress(message: string): void {
  shown = message;
}

export function startProgress(terminal: Terminal, message: string): Progress {
  if (!terminal.isTerminal('stderr')) return NONE;
  shown = message;
  let frame = 0;
  let interval: NodeJS.Timeout | undefined;
  const draw = (): void => {
    void terminal.write('stderr', `${ERASE_LINE}${FRAMES[frame++ % FRAMES.length] ?? ''} ${shown}`);
  };
  const timer = setTimeout(() => {
    draw();
    interval = setInterval(draw, FRAME_MS).unref();
  }, SHOW_AFTER_MS).unref();
  return {
    stop() {
      clearTimeout(timer);
      if (interval === undefined) return;
      clearInterval(interval);
      interval = undefined;
      void terminal.write('stderr', ERASE_LINE);
    },
  };
}

/** Shows the message while `work` takes its time. */
export async function withProgress<T>(terminal: Terminal, message: string, work: () => Promise<T>): Promise<T> {
  const progress = startProgress(terminal, message);
  try {
    return await work();
  } finally {
    progress.stop();
  }
}
