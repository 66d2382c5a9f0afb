/**
 * The pipes between this process and a sandbox's armed shells: named, so that both sides open them; in a directory that
 * the sandbox sees read-only, so that it can use but not exchange them.
 */
import { closeSync, constants, openSync, unlink } from 'node:fs';
import { Socket } from 'node:net';
import { PipeReader } from '../../provider/posix/pipe-reader.ts';
import type { PipeStock } from './pipe-stock.ts';
import { ScriptPipe } from './script-pipe.ts';

/** What follows the script on its pipe is the command's standard input. */
const SLOT_PIPES = ['script', 'out', 'err'] as const;

/** One command's pipes, our ends open. */
export interface SlotPipes {
  readonly slot: string;
  readonly script: ScriptPipe;
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
  readonly #atOnce: boolean;
  #made = 0;
  readonly #forgotten: string[] = [];
  #next: Promise<SlotPipes> | undefined;

  /** `atOnce`: for one slot alone, whose pipes are placed without another thread. */
  constructor(dir: string, name: string, stock: PipeStock, atOnce = false) {
    this.dir = dir;
    this.name = name;
    this.#stock = stock;
    this.#atOnce = atOnce;
  }

  async makeResident(): Promise<void> {
    await this.#stock.place(RESIDENT_PIPES.map((pipe) => `${this.dir}/${this.name}.${pipe}`));
  }

  /** Our ends of the resident shell's pipes. `status` may be read from only when the shell has opened it. */
  openResident(): { readonly control: Socket; readonly status: number } {
    const [control, status] = openPipes([
      [`${this.dir}/${this.name}.control`, constants.O_RDWR],
      [`${this.dir}/${this.name}.status`, constants.O_RDONLY],
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
    const path = (pipe: string): string => `${this.dir}/${slot}.${pipe}`;
    const paths = SLOT_PIPES.map(path);
    if (!this.#atOnce || !this.#stock.placeNow(paths)) await this.#stock.place(paths);
    const [script, stdout, stderr] = openPipes([
      [path('script'), constants.O_RDWR],
      [path('out'), constants.O_RDONLY],
      [path('err'), constants.O_RDONLY],
    ]);
    return {
      slot,
      script: new ScriptPipe(script),
      stdout: new PipeReader(stdout),
      stderr: new PipeReader(stderr),
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
    await Promise.all(SLOT_PIPES.map((pipe) => remove(`${this.dir}/${slot}.${pipe}`)));
  }

  async removeResident(): Promise<void> {
    await Promise.all(RESIDENT_PIPES.map((pipe) => remove(`${this.dir}/${this.name}.${pipe}`)));
  }
}

/** Whether or not it is there. */
function remove(path: string): Promise<void> {
  return new Promise((resolve) => unlink(path, () => resolve()));
}

type PipeEnd = readonly [path: string, flags: number];

/** All or none. At once: the pipes were just placed, so their inodes are in memory, and none of these waits for the other side. */
function openPipes<T extends readonly PipeEnd[]>(ends: readonly [...T]): { [K in keyof T]: number } {
  const opened: number[] = [];
  try {
    for (const [path, flags] of ends) opened.push(openSync(path, flags | constants.O_NONBLOCK));
    return opened as { [K in keyof T]: number };
  } catch (cause) {
    for (const fd of opened) closeSync(fd);
    throw cause;
  }
}

/** The other side may end at any time: that shows as the end of a stream. An unused pipe keeps no process alive. */
function quiet(socket: Socket): Socket {
  socket.on('error', () => undefined);
  return socket.unref();
}
