/**
 * The pipes between this process and a sandbox's armed shells: named, so that both sides open them; in a directory that
 * the sandbox sees read-only, so that it can use but not exchange them.
 */
import { constants, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { PipeReader } from '../../provider/posix/pipe-reader.ts';
import type { PipeStock } from './pipe-stock.ts';

/** What follows the script on its pipe is the command's standard input. */
const SLOT_PIPES = ['script', 'out', 'err'] as const;

/** One command's pipes, our ends open. */
export interface SlotPipes {
  readonly slot: string;
  readonly script: Socket;
  readonly stdout: PipeReader;
  readonly stderr: PipeReader;
}

/** The two pipes of a resident shell. */
export const RESIDENT_PIPES = ['control', 'status'] as const;

export class Channel {
  readonly dir: string;
  /** Keeps several resident shells on one sandbox apart. */
  readonly name: string;
  readonly #stock: PipeStock;
  #made = 0;
  readonly #forgotten: string[] = [];
  #next: Promise<SlotPipes> | undefined;

  constructor(dir: string, name: string, stock: PipeStock) {
    this.dir = dir;
    this.name = name;
    this.#stock = stock;
  }

  async makeResident(): Promise<void> {
    await this.#stock.place(RESIDENT_PIPES.map((pipe) => join(this.dir, `${this.name}.${pipe}`)));
  }

  /** Our ends of the resident shell's pipes. `status` may be read from only when the shell has opened it. */
  openResident(): { readonly control: Socket; readonly status: number } {
    const control = openSync(join(this.dir, `${this.name}.control`), constants.O_RDWR | constants.O_NONBLOCK);
    const status = openSync(join(this.dir, `${this.name}.status`), constants.O_RDONLY | constants.O_NONBLOCK);
    return { control: quiet(new Socket({ fd: control, readable: false, writable: true })), status };
  }

  /** Has the next slot's pipes ready when the shell that will use them is. */
  prepareSlot(): void {
    this.#next ??= this.#openNext();
    this.#next.catch(() => undefined);
  }

  async discardSlot(): Promise<void> {
    const next = await this.#next?.catch(() => undefined);
    this.#next = undefined;
    for (const pipe of [next?.script, next?.stdout, next?.stderr]) pipe?.destroy();
  }

  openSlot(): Promise<SlotPipes> {
    const next = this.#next ?? this.#openNext();
    this.#next = undefined;
    return next;
  }

  /** Opens our ends before the shell opens its own: a writer waits for its reader. */
  async #openNext(): Promise<SlotPipes> {
    this.#removeForgotten();
    const slot = `${this.name}${this.#made++}`;
    const path = (pipe: string): string => join(this.dir, `${slot}.${pipe}`);
    await this.#stock.place(SLOT_PIPES.map(path));
    const script = openSync(path('script'), constants.O_RDWR | constants.O_NONBLOCK);
    const out = openSync(path('out'), constants.O_RDONLY | constants.O_NONBLOCK);
    const err = openSync(path('err'), constants.O_RDONLY | constants.O_NONBLOCK);
    return {
      slot,
      script: quiet(new Socket({ fd: script, readable: false, writable: true })),
      stdout: new PipeReader(out),
      stderr: new PipeReader(err),
    };
  }

  /**
   * The slot's pipes are no longer needed by name. They go when the next slot is opened: after the last command of a
   * sandbox the whole directory goes anyway.
   */
  forgetSlot(slot: string): void {
    this.#forgotten.push(slot);
  }

  #removeForgotten(): void {
    for (const slot of this.#forgotten.splice(0)) for (const pipe of SLOT_PIPES) this.#remove(`${slot}.${pipe}`);
  }

  removeResident(): void {
    for (const pipe of RESIDENT_PIPES) this.#remove(`${this.name}.${pipe}`);
  }

  #remove(name: string): void {
    rmSync(join(this.dir, name), { force: true });
  }
}

/** The other side may end at any time: that shows as the end of a stream. An unused pipe keeps no process alive. */
function quiet(socket: Socket): Socket {
  socket.on('error', () => undefined);
  return socket.unref();
}
