/** The sandboxes of an account that are ours: made once, found again, moved and removed. The service alone keeps them. */
import { type Clock, sleep } from '../../core/clock.ts';
import { SubletError, throwIfAborted } from '../../core/errors.ts';
import type { Labels } from '../../core/spec.ts';
import type { ProviderContext } from '../define-provider.ts';
import type { ListedSandbox, ProviderState, SandboxRef, SandboxSpec } from '../provider.ts';
import { abortable } from '../abortable.ts';
import { lookUntil } from './look-until.ts';
import { OneCreate } from './one-create.ts';
import type { SandboxService } from './sandbox-service.ts';
import { isNotFound, notFoundError } from './service-errors.ts';

/** A removal that takes more looks than this is stuck: about two minutes. */
const REMOVAL_LOOKS = 120;
/** A create that has not been answered after so long may never be; the list shows it if it is made after all. */
const SETTLE_MS = 30_000;

export class ServiceSandboxes<Box> {
  readonly #service: SandboxService<Box>;
  readonly #clock: Clock;
  readonly #creates: OneCreate<Box>;

  constructor(service: SandboxService<Box>, context: ProviderContext) {
    this.#service = service;
    this.#clock = context.clock;
    const ready = (box: Box, signal: AbortSignal): Promise<Box> => this.#ready(box, signal);
    this.#creates = new OneCreate(service, { ready, named: (name, signal) => this.#named(name, signal) }, context);
  }

  /** As `SandboxProvider` says; it runs and is prepared. */
  async create(spec: SandboxSpec, signal: AbortSignal): Promise<Box> {
    throwIfAborted(signal);
    return abortable(this.#creates.make(spec, signal), signal);
  }

  /** undefined when there is certainly none, or one that is not ours. */
  async find(ref: SandboxRef, signal: AbortSignal): Promise<Box | undefined> {
    throwIfAborted(signal);
    const id = ref.providerId ?? (await this.#idNamed(ref.name, signal));
    const box = id === undefined ? undefined : await this.#get(id, signal);
    return box === undefined || this.#service.read(box) === undefined ? undefined : box;
  }

  /** SANDBOX_NOT_FOUND when there is none. */
  async known(ref: SandboxRef, signal: AbortSignal): Promise<Box> {
    const box = await this.find(ref, signal);
    if (box === undefined) throw notFoundError(this.#service.title, ref.name);
    return box;
  }

  /** Without asking where it is known. SANDBOX_NOT_FOUND when nothing has the name. */
  async idOf(ref: SandboxRef, signal: AbortSignal): Promise<string> {
    throwIfAborted(signal);
    const id = ref.providerId ?? (await this.#idNamed(ref.name, signal));
    if (id === undefined) throw notFoundError(this.#service.title, ref.name);
    return id;
  }

  /** As `SandboxProvider` says. By a name it removes every copy. */
  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    await this.#settled(ref.name, signal);
    const { providerId } = ref;
    const ids =
      providerId === undefined
        ? (await this.#named(ref.name, signal)).map((box) => this.#service.idOf(box))
        : [providerId];
    await Promise.all(ids.map((id) => this.#remove({ name: ref.name, providerId: id }, id, signal)));
  }

  async *list(labels: Labels, signal: AbortSignal): AsyncGenerator<ListedSandbox> {
    throwIfAborted(signal);
    const boxes = this.#service.list({ labels }, signal)[Symbol.asyncIterator]();
    for (;;) {
      const next = await abortable(boxes.next(), signal);
      if (next.done === true) return;
      const listed = this.#service.read(next.value);
      if (listed === undefined || !Object.entries(labels).every(([key, value]) => listed.labels[key] === value))
        continue;
      yield listed;
    }
  }

  /** Already so is success, also when it becomes so while it is asked. */
  async move(
    ref: SandboxRef,
    wanted: ProviderState,
    begin: (box: Box) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    const box = await this.known(ref, signal);
    if (this.#stateOf(box) === wanted) return;
    await abortable(begin(box), signal).catch(async (error: unknown) => {
      if (this.#stateOf(await this.known(ref, signal)) !== wanted) throw error;
    });
    await this.#until(this.#service.idOf(box), wanted, signal);
  }

  /** Starts it and waits until it runs. */
  async wake(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.move(ref, 'running', (box) => this.#service.wake(this.#service.idOf(box), signal), signal);
  }

  async #ready(box: Box, signal: AbortSignal): Promise<Box> {
    const id = this.#service.idOf(box);
    if (['paused', 'stopped'].includes(this.#stateOf(box))) await abortable(this.#service.wake(id, signal), signal);
    return this.#until(id, 'running', signal);
  }

  async #until(id: string, wanted: ProviderState, signal: AbortSignal): Promise<Box> {
    const look = async (): Promise<Box | undefined> => {
      const box = await this.#service.get(id, signal);
      if (this.#stateOf(box) === wanted) return box;
      const failure = this.#service.failure(box);
      if (failure !== undefined) throw failure;
      return undefined;
    };
    return (await lookUntil(this.#clock, look, signal)) as Box;
  }

  /** A create that was given up may still be on its way there. */
  async #settled(name: string, signal: AbortSignal): Promise<void> {
    const isOver = new AbortController();
    const patience = sleep(this.#clock, SETTLE_MS, isOver.signal).catch(() => undefined);
    const settled = Promise.race([this.#creates.settled(name), patience]);
    await abortable(settled, signal).finally(() => isOver.abort());
  }

  async #remove(ref: SandboxRef, id: string, signal: AbortSignal): Promise<void> {
    const outcome = await abortable(this.#service.remove(id, signal), signal).catch((error: unknown) => {
      if (isNotFound(error)) return 'gone';
      throw error;
    });
    if (outcome === 'gone') return;
    const look = async (): Promise<true | undefined> =>
      (await this.find(ref, signal)) === undefined ? true : undefined;
    if ((await lookUntil(this.#clock, look, signal, REMOVAL_LOOKS)) === true) return;
    throw new SubletError(
      'PROVIDER_UNAVAILABLE',
      `${this.#service.title} is removing ${ref.name} and has not finished.`,
      {
        hint: 'Try again later; look at it in the dashboard if it stays so.',
      },
    );
  }

  async #named(name: string, signal: AbortSignal): Promise<readonly Box[]> {
    if (this.#service.hasUniqueNames) {
      const box = await this.find({ name }, signal);
      return box === undefined ? [] : [box];
    }
    const found: { readonly box: Box; readonly id: string; readonly createdAt: number }[] = [];
    for await (const box of this.#service.list({ name }, signal)) {
      const { ref, createdAt = 0 } = this.#service.read(box) ?? {};
      const isClaimed = this.#service.claims?.isClaimed(box) === true;
      if (ref?.name === name)
        found.push({ box, id: this.#service.idOf(box), createdAt: isClaimed ? Number.NEGATIVE_INFINITY : createdAt });
    }
    return found.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)).map(({ box }) => box);
  }

  async #idNamed(name: string, signal: AbortSignal): Promise<string | undefined> {
    if (this.#service.hasUniqueNames) return name;
    const [first] = await this.#named(name, signal);
    return first === undefined ? undefined : this.#service.idOf(first);
  }

  #get(idOrName: string, signal: AbortSignal): Promise<Box | undefined> {
    return abortable(this.#service.get(idOrName, signal), signal).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }

  #stateOf(box: Box): ProviderState {
    return this.#service.read(box)?.state ?? 'unknown';
  }
}
