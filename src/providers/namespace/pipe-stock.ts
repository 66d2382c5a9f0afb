/**
 * Named pipes in stock. Node cannot make one and starting `mkfifo` costs more than a command, so they are made by the
 * dozen, kept in a directory, and taken by renaming: a rename succeeds for one taker only, in this process or another.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rename } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { makeFifos } from '../../provider/posix/fifo-pool.ts';

// By another thread: fifty commands at once take a hundred and fifty, and each may wait for the disk.
const move = promisify(rename);

const FIRST_BATCH = 64;
const MAX_BATCH = 512;

export class PipeStock {
  readonly #dir: string;
  #names: string[] = [];
  #batch = FIRST_BATCH;
  #hasLooked = false;
  #refill: Promise<void> | undefined;

  constructor(stateDir: string) {
    this.#dir = join(stateDir, 'pipes');
  }

  /** Puts one pipe at each path. Their directory exists; the paths do not. */
  async place(paths: readonly string[]): Promise<void> {
    if (!this.#hasLooked) this.#lookAround();
    await Promise.all(paths.map((path) => this.#placeOne(path)));
    if (this.#names.length < this.#batch / 4) this.#more().catch(() => undefined);
  }

  /** When nothing is being made any more. */
  async settled(): Promise<void> {
    await this.#refill?.catch(() => undefined);
  }

  async #placeOne(path: string): Promise<void> {
    for (;;) {
      const name = this.#names.pop();
      if (name === undefined) {
        // Whoever has to wait shows that more should be ready: starting `mkfifo` holds up everybody.
        if (this.#refill === undefined) this.#batch = Math.min(this.#batch * 2, MAX_BATCH);
        await this.#more();
        continue;
      }
      try {
        await move(join(this.#dir, name), path);
        return;
      } catch (cause) {
        // Another process was quicker, unless it is the target that is missing.
        if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || !existsSync(dirname(path))) throw cause;
      }
    }
  }

  #lookAround(): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    this.#names.push(...readdirSync(this.#dir));
    this.#hasLooked = true;
  }

  #more(): Promise<void> {
    return (this.#refill ??= this.#makeMore().finally(() => (this.#refill = undefined)));
  }

  async #makeMore(): Promise<void> {
    const names = Array.from({ length: this.#batch }, () => randomUUID());
    await makeFifos(
      names.map((name) => join(this.#dir, name)),
      '666',
    );
    this.#names.push(...names);
  }
}
