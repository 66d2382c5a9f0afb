/** Where the faulty provider's sandboxes are: shared by several instances, as several processes share a cloud. */
import type { Clock } from '../core/clock.ts';
import { sleep } from '../core/clock.ts';
import { SubletError, abortedError } from '../core/errors.ts';
import type { RandomBytes } from '../core/ids.ts';
import { cryptoBytes } from '../core/ids.ts';
import type { NetworkLevel } from '../core/network.ts';
import type { Labels } from '../core/spec.ts';
import type { SandboxSpec } from '../provider/provider.ts';
import { FaultyCommands } from './faulty-provider-commands.ts';
import { FaultyFiles } from './faulty-provider-files.ts';

export const FAULTY_OPERATIONS = [
  'create',
  'attach',
  'destroy',
  'list',
  'pause',
  'resume',
  'stop',
  'start',
  'setNetwork',
  'reset',
  'metrics',
  'command',
] as const;
export type FaultyOperation = (typeof FAULTY_OPERATIONS)[number];

export type Fault =
  /** Done, after this long. */
  | { readonly type: 'slow'; readonly ms: number }
  /** Not done, and says so. */
  | { readonly type: 'refused' }
  /** Done, but the answer is lost. */
  | { readonly type: 'lost-answer' }
  | { readonly type: 'rate-limited'; readonly retryAfterMs: number }
  /** Says that it does not exist although it does. */
  | { readonly type: 'phantom-not-found' }
  /** Not done, and never answers until the caller gives up. */
  | { readonly type: 'stuck' }
  /** Done, but never answers, whatever the caller does. */
  | { readonly type: 'crash' }
  /** Makes a second one of the same name. */
  | { readonly type: 'duplicate' }
  /** A reset that leaves what was there, and says so. */
  | { readonly type: 'unclean' };

export interface FaultyBox {
  readonly name: string;
  readonly providerId: string;
  readonly labels: Labels;
  readonly spec: SandboxSpec;
  readonly createdAt: number;
  state: 'running' | 'paused' | 'stopped' | 'gone';
  network: NetworkLevel;
  readonly files: FaultyFiles;
  readonly commands: FaultyCommands;
}

export interface FaultyWorldOptions {
  /** Injectable so that a simulation is repeatable. */
  readonly random?: RandomBytes | undefined;
  /** `list` shows what was there this long ago. Default 0. */
  readonly listingLagMs?: number | undefined;
}

interface Stay {
  readonly box: FaultyBox;
  readonly from: number;
  until: number;
}

export class FaultyWorld {
  readonly clock: Clock;
  /** How often each operation was asked for. */
  readonly calls: Record<FaultyOperation, number>;
  /** By the provider's own id, oldest first. */
  readonly #boxes = new Map<string, FaultyBox>();
  readonly #named = new Map<string, readonly FaultyBox[]>();
  #inOrder: readonly FaultyBox[] | undefined;
  #stays: Stay[] = [];
  readonly #planned = new Map<FaultyOperation, Fault[]>();
  readonly #wakers = new Set<() => void>();
  #chance: ((operation: FaultyOperation) => Fault | undefined) | undefined;
  readonly #random: RandomBytes;
  readonly #listingLagMs: number;
  #made = 0;

  constructor(clock: Clock, options: FaultyWorldOptions = {}) {
    this.clock = clock;
    this.#random = options.random ?? cryptoBytes;
    this.#listingLagMs = options.listingLagMs ?? 0;
    this.calls = Object.fromEntries(FAULTY_OPERATIONS.map((operation) => [operation, 0])) as Record<
      FaultyOperation,
      number
    >;
  }

  /** Everything that exists, oldest first. */
  get boxes(): readonly FaultyBox[] {
    this.#inOrder ??= [...this.#boxes.values()];
    return this.#inOrder;
  }

  /** What `list` shows: the same, a little late where the world is so. */
  get listed(): readonly FaultyBox[] {
    if (this.#listingLagMs === 0) return this.boxes;
    const then = this.clock.elapsed() - this.#listingLagMs;
    this.#stays = this.#stays.filter(({ until }) => until > then);
    return this.#stays.filter(({ from }) => from <= then).map(({ box }) => box);
  }

  /** The next calls of `operation` go wrong like this, one after the other. */
  plan(operation: FaultyOperation, ...faults: readonly Fault[]): void {
    this.#planned.set(operation, [...(this.#planned.get(operation) ?? []), ...faults]);
  }

  /** From now on each call goes wrong with this probability, in one of these ways; the same seed, the same faults. */
  seed(seed: number, probability: number, faults: Readonly<Partial<Record<FaultyOperation, readonly Fault[]>>>): void {
    const random = mulberry32(seed);
    this.#chance = (operation) => {
      const possible = faults[operation] ?? [];
      return random() < probability ? possible[Math.floor(random() * possible.length)] : undefined;
    };
  }

  /** No more faults, planned or by chance. */
  heal(): void {
    this.#chance = undefined;
    this.#planned.clear();
  }

  find(name: string): FaultyBox | undefined {
    return this.#named.get(name)?.[0];
  }

  add(spec: SandboxSpec): FaultyBox {
    const box = this.#make(spec, `box-${++this.#made}`, this.clock.now());
    this.#keep(box);
    if (this.#listingLagMs > 0) this.#stays.push({ box, from: this.clock.elapsed(), until: Infinity });
    return box;
  }

  /** As it was made, in the same place. Handles of the one before find it gone. */
  renew(box: FaultyBox): void {
    const fresh = this.#make(box.spec, box.providerId, box.createdAt);
    this.#keep(fresh);
    this.#stays = this.#stays.map((stay) => (stay.box === box ? { ...stay, box: fresh } : stay));
    this.#end(box);
    this.#wake();
  }

  #make(spec: SandboxSpec, providerId: string, createdAt: number): FaultyBox {
    const now = (): number => this.clock.now();
    const guard = (): Promise<void> => this.#untilAwake(box);
    const box: FaultyBox = {
      name: spec.name,
      providerId,
      labels: spec.labels,
      spec,
      createdAt,
      state: 'running',
      network: spec.network,
      files: new FaultyFiles(now, guard),
      commands: new FaultyCommands({
        clock: this.clock,
        guard,
        network: () => box.network,
        files: () => box.files,
        random: this.#random,
      }),
    };
    return box;
  }

  /** Gone without anybody having asked: what happens when a machine dies. */
  lose(name: string): void {
    this.remove(name);
  }

  /** All of the name, duplicates too. */
  remove(name: string): void {
    for (const box of this.#named.get(name) ?? []) {
      this.#end(box);
      this.#boxes.delete(box.providerId);
    }
    this.#named.delete(name);
    this.#inOrder = undefined;
    for (const stay of this.#stays)
      if (stay.box.state === 'gone') stay.until = Math.min(stay.until, this.clock.elapsed());
    this.#wake();
  }

  #keep(box: FaultyBox): void {
    const others = this.#named.get(box.name)?.filter(({ providerId }) => providerId !== box.providerId) ?? [];
    this.#boxes.set(box.providerId, box);
    this.#named.set(box.name, [...others, box]);
    this.#inOrder = undefined;
  }

  #end(box: FaultyBox): void {
    box.state = 'gone';
    box.commands.killAll();
  }

  setState(box: FaultyBox, state: FaultyBox['state']): void {
    box.state = state;
    if (state === 'stopped') box.commands.killAll();
    this.#wake();
  }

  /** Does `work` as the next fault of `operation` has it. */
  async perform<T>(
    operation: FaultyOperation,
    signal: AbortSignal | undefined,
    work: (fault?: Fault) => T,
  ): Promise<T> {
    this.calls[operation] += 1;
    const fault = this.#planned.get(operation)?.shift() ?? this.#chance?.(operation);
    if (signal?.aborted === true) throw abortedError(signal);
    switch (fault?.type) {
      case 'slow':
        await sleep(this.clock, fault.ms, signal);
        return work();
      case 'refused':
        throw new SubletError('PROVIDER_UNAVAILABLE', `The provider refused ${operation}.`);
      case 'rate-limited':
        throw new SubletError('RATE_LIMITED', 'Slow down.', { details: { retryAfterMs: fault.retryAfterMs } });
      case 'phantom-not-found':
        throw new PhantomNotFound();
      case 'stuck':
        return untilAborted(signal);
      case 'crash':
        work();
        return new Promise<never>(() => {});
      case 'lost-answer':
        work();
        throw new SubletError('PROVIDER_UNAVAILABLE', `The answer to ${operation} was lost.`);
      case 'duplicate':
        work();
        return work();
      case 'unclean':
        return work(fault);
      case undefined:
        return work();
    }
  }

  /** Commands and files of a paused sandbox stand still; those of one that is gone fail. */
  async #untilAwake(box: FaultyBox): Promise<void> {
    while (box.state === 'paused') await new Promise<void>((resolve) => this.#wakers.add(resolve));
    if (box.state === 'running') return;
    if (box.state === 'stopped') throw new SubletError('STATE_CONFLICT', `${box.name} is stopped.`);
    throw new SubletError('SANDBOX_LOST', `${box.name} is gone.`);
  }

  #wake(): void {
    for (const wake of this.#wakers) wake();
    this.#wakers.clear();
  }
}

/** Turned by each operation into what it says when there is no such sandbox. */
export class PhantomNotFound extends Error {
  override readonly name = 'PhantomNotFound';
}

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(abortedError(signal)), { once: true });
  });
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
