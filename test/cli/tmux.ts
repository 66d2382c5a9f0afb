/** A real terminal for a test: a tmux server of its own, driven by keys and read by its screen. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const POLL_MS = 50;
const GIVE_UP_MS = 45_000;

export class Tmux {
  readonly #socket = `sublet-${randomUUID()}`;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** An 100×30 terminal with a shell that knows `sublet`. */
  static async open(env: NodeJS.ProcessEnv, directory: string, main: string): Promise<Tmux> {
    const tmux = new Tmux({ ...env, TERM: 'xterm', PS1: '$ ', ENV: '' });
    await tmux.#tmux('-f', '/dev/null', 'new-session', '-d', '-x', '100', '-y', '30', '-c', directory, 'sh');
    await tmux.type(`sublet() { "${process.execPath}" "${main}" "$@"; }; clear; echo rea''dy`);
    await tmux.waitFor('ready');
    return tmux;
  }

  /** Types the text and presses Enter. */
  async type(text: string): Promise<void> {
    await this.#tmux('send-keys', '-l', text);
    await this.press('Enter');
  }

  /** Keys by tmux's names: `C-c`, `Enter`, `y`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux('send-keys', ...keys);
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.#tmux('resize-window', '-x', String(cols), '-y', String(rows));
  }

  async screen({ colours = false } = {}): Promise<string> {
    const { stdout } = await this.#tmux('capture-pane', '-p', '-S', '-200', ...(colours ? ['-e'] : []));
    return stdout;
  }

  /** Waits until the screen shows it; fails with the screen when it never does. */
  async waitFor(wanted: string | RegExp): Promise<string> {
    const deadline = Date.now() + GIVE_UP_MS;
    for (;;) {
      const screen = await this.screen();
      if (typeof wanted === 'string' ? screen.includes(wanted) : wanted.test(screen)) return screen;
      if (Date.now() > deadline) throw new Error(`The screen never showed ${String(wanted)}:\n${screen}`);
      await delay(POLL_MS);
    }
  }

  async close(): Promise<void> {
    await this.#tmux('kill-server').catch(() => undefined);
  }

  #tmux(...args: readonly string[]): Promise<{ stdout: string }> {
    return run('tmux', ['-L', this.#socket, ...args], { env: this.#env });
  }
}
