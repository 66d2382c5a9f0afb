/**
 * The pipes between this process and a sandbox's armed shells: named, so that both sides open them; in a directory that
 * the sandbox sees read-only, so that it can use but not exchange them.
 */
import { constants, open, unlink } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PipeReader } from '../../provider/posix/pipe-reader.ts';
import type { PipeStock } from './pipe-stock.ts';

const openFd = promisify(open);
const removeFile = promisify(unlink);

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
  async openResident(): Promise<{ readonly control: Socket; readonly status: number }> {
    const [control, status] = await Promise.all([
      openFd(join(this.dir, `${this.name}.control`), constants.O_RDWR | constants.O_NONBLOCK),
      openFd(join(this.dir, `${this.name}.status`), constants.O_RDONLY | constants.O_NONBLOCK),
    ]);
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
    void this.#removeForgotten();
    const slot = `${this.name}${this.#made++}`;
    const path = (pipe: string): string => join(this.dir, `${slot}.${pipe}`);
    await this.#stock.place(SLOT_PIPES.map(path));
    const [script, out, err] = await Promise.all([
      openFd(path('script'), constants.O_RDWR | constants.O_NONBLOCK),
      openFd(path('out'), constants.O_RDONLY | constants.O_NONBLOCK),
      openFd(path('err'), constants.O_RDONLY | constants.O_NONBLOCK),
    ]);
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

  async #removeForgotten(): Promise<void> {
    const slots = this.#forgotten.splice(0);
    await Promise.all(slots.map((slot) => this.#removeSlot(slot)));
  }

  async #removeSlot(slot: string): Promise<void> {
    await Promise.all(SLOT_PIPES.map((pipe) => removeFile(join(this.dir, `${slot}.${pipe}`)).catch(() => undefined)));
  }

  async removeResident(): Promise<void> {
    await Promise.all(
      RESIDENT_PIPES.map((pipe) => removeFile(join(this.dir, `${this.name}.${pipe}`)).catch(() => undefined)),
    );
  }
}

/** The other side may end at any time: that shows as the end of a stream. An unused pipe keeps no process alive. */
function quiet(socket: Socket): Socket {
  socket.on('error', () => undefined);
  return socket.unref();
}
