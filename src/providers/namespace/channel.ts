/**
 * The pipes between this process and a sandbox's armed shells: named, so that both sides open them; in a directory that
 * the sandbox sees read-only, so that it can use but not exchange them.
 */
import { constants, open } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeFifos } from '../../provider/posix/fifo-pool.ts';

const openFd = promisify(open);

export const SLOT_PIPES = ['script', 'out', 'err', 'in'] as const;

/** One command's pipes, our ends open. */
export interface SlotPipes {
  readonly slot: string;
  readonly script: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** Opened only for a command that wants it. */
  openStdin(): Promise<Socket>;
}

/** The two pipes of a resident shell. */
export const RESIDENT_PIPES = ['control', 'status'] as const;

export function slotPipeNames(slot: string): readonly string[] {
  return SLOT_PIPES.map((pipe) => `${slot}.${pipe}`);
}

export class Channel {
  readonly dir: string;
  /** Keeps several resident shells on one sandbox apart. */
  readonly name: string;
  #ready: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  constructor(dir: string, name: string) {
    this.dir = dir;
    this.name = name;
  }

  /** The pipes whoever starts the resident shell must have made: its own two and those of a first slot. */
  static firstPipes(name: string): readonly string[] {
    return [...RESIDENT_PIPES.map((pipe) => `${name}.${pipe}`), ...slotPipeNames(`${name}0`)];
  }

  async make(): Promise<void> {
    await makeFifos(Channel.firstPipes(this.name).map((name) => join(this.dir, name)), '666');
    this.made();
  }

  /** Tells that `firstPipes` exist. */
  made(): void {
    this.#ready.push(`${this.name}0`);
    this.#made = 1;
  }

  /** Our ends of the resident shell's pipes. `status` may be read from only when the shell has opened it. */
  async openResident(): Promise<{ readonly control: Socket; readonly status: number }> {
    const [control, status] = await Promise.all([
      openFd(join(this.dir, `${this.name}.control`), constants.O_RDWR | constants.O_NONBLOCK),
      openFd(join(this.dir, `${this.name}.status`), constants.O_RDONLY | constants.O_NONBLOCK),
    ]);
    return { control: quiet(new Socket({ fd: control, readable: false, writable: true })), status };
  }

  /** Opens our ends before the shell opens its own: a writer waits for its reader. */
  async openSlot(): Promise<SlotPipes> {
    const slot = await this.#takeSlot();
    const path = (pipe: string): string => join(this.dir, `${slot}.${pipe}`);
    const [script, out, err] = await Promise.all([
      openFd(path('script'), constants.O_RDWR | constants.O_NONBLOCK),
      openFd(path('out'), constants.O_RDONLY | constants.O_NONBLOCK),
      openFd(path('err'), constants.O_RDONLY | constants.O_NONBLOCK),
    ]);
    return {
      slot,
      script: quiet(new Socket({ fd: script, readable: false, writable: true })),
      stdout: quiet(new Socket({ fd: out, readable: true, writable: false })),
      stderr: quiet(new Socket({ fd: err, readable: true, writable: false })),
      openStdin: async () => quiet(new Socket({ fd: await openFd(path('in'), constants.O_RDWR | constants.O_NONBLOCK), readable: false, writable: true })),
    };
  }

  /** The names are no longer needed once both sides have opened the pipes, or never will. */
  async removeSlot(slot: string): Promise<void> {
    await Promise.all(slotPipeNames(slot).map((name) => unlink(join(this.dir, name)).catch(() => undefined)));
  }

  async removeResident(): Promise<void> {
    await Promise.all(RESIDENT_PIPES.map((pipe) => unlink(join(this.dir, `${this.name}.${pipe}`)).catch(() => undefined)));
  }

  async #takeSlot(): Promise<string> {
    for (;;) {
      const slot = this.#ready.shift();
      if (slot !== undefined) return slot;
      this.#making ??= this.#makeMore().finally(() => (this.#making = undefined));
      await this.#making;
    }
  }

  async #makeMore(): Promise<void> {
    const slots = Array.from({ length: 8 }, () => `${this.name}${this.#made++}`);
    await makeFifos(slots.flatMap((slot) => slotPipeNames(slot).map((name) => join(this.dir, name))), '666');
    this.#ready.push(...slots);
  }
}

/** The other side may end at any time; that shows as the end of a stream, not as an error. */
function quiet(socket: Socket): Socket {
  socket.on('error', () => undefined);
  return socket;
}


