/** The resident shell of one sandbox as this process holds it: keeps shells armed, hands them out, hears how they end. */
import { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { closeFd } from '../../provider/posix/fifo-pool.ts';
import type { ProcessExit } from '../../provider/posix/run-process.ts';
import {
  ARM_WITHIN_MS,
  type ArmedShell,
  discardPipes,
  exitFrom,
  handOver,
  shellEnded,
  shellStuck,
  UNKNOWN_EXIT,
} from './armed-shell.ts';
import type { Channel, SlotPipes } from './channel.ts';
import { Turnstile } from './turnstile.ts';

const MAX_SPARE = 8;
/** More at once would be done no sooner, and their pipes would be opened in one stretch that holds up everything else. */
const MAX_ARMING = 8;
/** Longer than any slot's name with what is said of it. */
const MAX_STATUS_LINE = 512;

interface Slot {
  readonly pipes: SlotPipes;
  readonly armed: Promise<void>;
  readonly exit: Promise<ProcessExit>;
  onArmed(): void;
  /** It will not be armed. Without effect once it is. */
  onFailed(error: Error): void;
  onExit(exit: ProcessExit): void;
}

export class ResidentShell {
  readonly #channel: Channel;
  readonly #clock: Clock;
  readonly #status: Socket;
  readonly #control: Socket;
  readonly #slots = new Map<string, Slot>();
  readonly #spare: Promise<Slot>[] = [];
  readonly #arming = new Turnstile(MAX_ARMING);
  #spareTarget = 1;
  #started = 0;
  #inUse = 0;
  #rest = '';
  #isOpen = true;

  private constructor(channel: Channel, control: Socket, status: number, clock: Clock) {
    this.#channel = channel;
    this.#clock = clock;
    this.#control = control.unref();
    this.#status = new Socket({ fd: status, readable: true, writable: false }).unref();
    this.#status.on('data', (chunk: Buffer) => this.#hear(chunk));
    this.#status.on('error', () => undefined);
    this.#status.on('close', () => this.#ended());
  }

  /** `listen` resolves when the shell says that it listens, and rejects if it never will. */
  static async open(channel: Channel, listen: () => Promise<unknown>, clock: Clock): Promise<ResidentShell> {
    const { control, status } = channel.openResident();
    try {
      await listen();
    } catch (cause) {
      control.destroy();
      await closeFd(status);
      // One that comes to them after all finds no pipes, and ends.
      await channel.removeResident();
      throw cause;
    }
    return new ResidentShell(channel, control, status, clock);
  }

  /** False once the shell has ended, for whatever reason. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Arms one shell more ahead of use. */
  warm(): void {
    if (!this.#isOpen || this.#spare.length >= this.#spareTarget) return;
    const spare = this.#arm();
    // Nobody may be waiting for it when the agent kills it: whoever takes it is told.
    spare.catch(() => undefined);
    this.#spare.push(spare);
  }

  async take(): Promise<ArmedShell> {
    // A waiting shell does not keep this process alive; a command does.
    this.#inUse++;
    this.#status.ref();
    const slot = await this.#takeSpare()
      .then((spare) => spare ?? this.#arm())
      .catch((cause: unknown) => {
        this.#giveBack();
        throw cause;
      });
    const { pipes, exit } = slot;
    void exit.then(() => {
      this.#giveBack();
      this.#channel.forgetSlot(pipes.slot);
    });
    return {
      stdout: pipes.stdout,
      stderr: pipes.stderr,
      exit,
      start: (script, stdin) => this.#start(pipes, script, stdin),
      leave: () => {
        discard(slot);
        this.#finish(pipes.slot, UNKNOWN_EXIT);
      },
    };
  }

  /** Armed shells end; commands that run go on. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#control.destroy();
    for (const spare of this.#spare.splice(0)) void spare.then(discard, () => undefined);
    this.#stopHearing();
  }

  #giveBack(): void {
    this.#inUse--;
    if (this.#inUse === 0) this.#status.unref();
    this.#stopHearing();
  }

  /** One that was stopped inside holds its end for as long as it likes. */
  #stopHearing(): void {
    if (!this.#isOpen && this.#inUse === 0) this.#status.destroy();
  }

  async #takeSpare(): Promise<Slot | undefined> {
    for (let next = this.#spare.shift(); next !== undefined; next = this.#spare.shift()) {
      const slot = await next.catch(() => undefined);
      if (slot === undefined) continue;
      if (this.#slots.has(slot.pipes.slot)) return slot;
      // The agent has killed it while it waited.
      discard(slot);
    }
    // Whoever has to wait shows that more should be ready.
    this.#spareTarget = Math.min(this.#spareTarget * 2, MAX_SPARE);
    return undefined;
  }

  #arm(): Promise<Slot> {
    return this.#arming.pass(() => this.#armNow());
  }

  async #armNow(): Promise<Slot> {
    if (!this.#isOpen) throw shellEnded();
    const pipes = await this.#channel.openSlot();
    const slot = newSlot(pipes);
    if (!this.#isOpen) {
      discard(slot);
      throw shellEnded();
    }
    this.#slots.set(pipes.slot, slot);
    this.#control.write(`${pipes.slot}\n`);
    const cancel = this.#clock.schedule(ARM_WITHIN_MS, () => this.#stuck(), { ref: false });
    try {
      await slot.armed;
      return slot;
    } catch (cause) {
      this.#slots.delete(pipes.slot);
      discard(slot);
      throw cause;
    } finally {
      cancel();
    }
  }

  /** The agent can stop it, and then nothing it was asked for comes. Commands that run go on. */
  #stuck(): void {
    this.close();
    for (const slot of this.#slots.values()) slot.onFailed(shellStuck());
  }

  #start(pipes: SlotPipes, script: string, stdin: boolean): Socket | null {
    this.#started++;
    // The first command may be the only one: only a second shows that more will come.
    if (this.#started > 1) for (let count = this.#spare.length; count < this.#spareTarget; count++) this.warm();
    return handOver(pipes, script, stdin);
  }

  #hear(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const [kind, name = '', code] = line.split(' ');
      const slot = this.#slots.get(name);
      if (kind === 'a') slot?.onArmed();
      if (kind === 'x') this.#finish(name, exitFrom(code));
    }
    // The pipe is open to the agent too, and what it writes there must not pile up here.
    if (this.#rest.length > MAX_STATUS_LINE) this.#rest = '';
  }

  #finish(name: string, exit: ProcessExit): void {
    this.#slots.get(name)?.onExit(exit);
    this.#slots.delete(name);
  }

  #ended(): void {
    this.close();
    void this.#channel.removeResident();
    for (const name of [...this.#slots.keys()]) this.#finish(name, UNKNOWN_EXIT);
  }
}

function newSlot(pipes: SlotPipes): Slot {
  let onArmed!: () => void;
  let onFailed!: (error: Error) => void;
  let onEnd!: (exit: ProcessExit) => void;
  const armed = new Promise<void>((resolve, reject) => {
    onArmed = resolve;
    onFailed = reject;
  });
  const exit = new Promise<ProcessExit>((resolve) => (onEnd = resolve));
  armed.catch(() => undefined);
  const onExit = (how: ProcessExit): void => {
    onFailed(shellEnded());
    onEnd(how);
  };
  return { pipes, armed, exit, onArmed, onFailed, onExit };
}

function discard(slot: Slot): void {
  discardPipes(slot.pipes);
}
