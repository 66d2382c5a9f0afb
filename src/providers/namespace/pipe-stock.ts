/**
 * Named pipes in stock. Node cannot make one and starting `mkfifo` costs more than a command, so they are made by the
 * dozen, kept in a directory, and taken by renaming: a rename succeeds for one taker only, in this process or another.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rename, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFifos } from '../../provider/posix/fifo-pool.ts';
import { makeDirectories } from '../../provider/posix/make-directories.ts';

// By another thread: fifty commands at once take a hundred and fifty, and each may wait for the disk.
function move(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => rename(from, to, (cause) => (cause === null ? resolve() : reject(cause))));
}

const FIRST_BATCH = 64;
const MAX_BATCH = 512;

export class PipeStock {
  readonly #dir: string;
  #names: string[] = [];
  #batch = FIRST_BATCH;
  #hasLooked = false;
  #refill: Promise<void> | undefined;

  constructor(stateDir: string) {
    this.#dir = `${stateDir}/pipes`;
  }

  /** Puts one pipe at each path. Their directory exists; the paths do not. */
  async place(paths: readonly string[]): Promise<void> {
    if (!this.#hasLooked) this.#lookAround();
    await Promise.all(paths.map((path) => this.#placeOne(path)));
    if (this.#names.length < this.#batch / 4) this.#more(true).catch(() => undefined);
  }

  /** The same at once. False when too few are in stock; what was placed by then is placed again by `place`. */
  placeNow(paths: readonly string[]): boolean {
    if (!this.#hasLooked) this.#lookAround();
    if (this.#names.length - paths.length < this.#batch / 4) return false;
    return paths.every((path) => this.#placeOneNow(path));
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
        await this.#more(false);
        continue;
      }
      try {
        await move(`${this.#dir}/${name}`, path);
        return;
      } catch (cause) {
        this.#throwUnlessTaken(cause, path);
      }
    }
  }

  #placeOneNow(path: string): boolean {
    for (let name = this.#names.pop(); name !== undefined; name = this.#names.pop()) {
      try {
        renameSync(`${this.#dir}/${name}`, path);
        return true;
      } catch (cause) {
        this.#throwUnlessTaken(cause, path);
      }
    }
    return false;
  }

  /** Another process was quicker, unless it is the target that is missing. */
  #throwUnlessTaken(cause: unknown, path: string): void {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || !existsSync(dirname(path))) throw cause;
  }

  #lookAround(): void {
    if (!existsSync(this.#dir)) makeDirectories(this.#dir, 0o700);
    this.#names = readdirSync(this.#dir);
    this.#hasLooked = true;
  }

  #more(ahead: boolean): Promise<void> {
    return (this.#refill ??= this.#makeMore(ahead).finally(() => (this.#refill = undefined)));
  }

  async #makeMore(ahead: boolean): Promise<void> {
    const names = Array.from({ length: this.#batch }, () => randomUUID());
    await makeFifos(
      names.map((name) => `${this.#dir}/${name}`),
      { mode: '666', ahead },
    );
    this.#names.push(...names);
  }
}
