/** Sandboxes of Daytona. The service is the only place where anything about them is kept. */
import { sleep } from '../../core/clock.ts';
import { abortedError, SubletError } from '../../core/errors.ts';
import type { NetworkFact, NetworkLevel } from '../../core/network.ts';
import type { Labels } from '../../core/spec.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { createShellFiles } from '../../provider/posix/shell-files.ts';
import type {
  AttachOptions,
  ListedSandbox,
  ProviderState,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSpec,
} from '../../provider/provider.ts';
import { abortable } from '../../provider/abortable.ts';
import { BoxMaker, MARK } from './box-maker.ts';
import type { DaytonaApi, DaytonaBox } from './daytona-api.ts';
import { createDaytonaCommands } from './daytona-commands.ts';
import { capabilitiesOf, type DaytonaConfig } from './daytona-config.ts';
import { assertPossible, isGone, notFoundError, ServiceError, toDaytonaError } from './daytona-errors.ts';

/** What this process holds of a sandbox: its terminals are in its commands. */
interface Held {
  readonly id: string;
  readonly workdir: string;
  readonly commands: RemoteCommands;
  env: Readonly<Record<string, string>>;
}

const FIRST_LOOK_MS = 50;
const MAX_LOOK_MS = 1000;
/** A deletion that takes longer is stuck. */
const DELETE_LOOKS = 120;
const MINUTE_MS = 60_000;

export class DaytonaProvider implements SandboxProvider {
  readonly id = 'daytona';
  readonly capabilities: ReadonlySet<Capability>;
  readonly #context: ProviderContext;
  readonly #config: DaytonaConfig;
  readonly #api: DaytonaApi;
  readonly #maker: BoxMaker;
  readonly #held = new Map<string, Held>();

  constructor(context: ProviderContext, config: DaytonaConfig, api: DaytonaApi) {
    this.#context = context;
    this.#config = config;
    this.#api = api;
    this.capabilities = capabilitiesOf(config);
    this.#maker = new BoxMaker(api, config, context.log, (id, isDone, signal) => this.#until(id, isDone, signal));
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    throwIfAborted(signal);
    assertPossible(spec);
    const box = await abortable(this.#maker.make(spec, signal), signal);
    return this.#handle(spec.name, box, spec.env, signal);
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    throwIfAborted(signal);
    const box = await this.#find(ref, signal);
    if (box === undefined) return undefined;
    if (box.state === 'destroying') throw deletingError(ref.name);
    return this.#handle(ref.name, box, options.env, signal);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    // A create that was given up may still be on its way there.
    await abortable(this.#maker.settled(ref.name), signal);
    const box = await this.#find(ref, signal);
    if (box !== undefined && (await this.#beginToRemove(box, signal))) await this.#untilGone(box.id, ref.name, signal);
    this.#held.delete(ref.name);
  }

  async *list(filter: Labels, signal: AbortSignal): AsyncGenerator<ListedSandbox> {
    throwIfAborted(signal);
    const boxes = this.#api.list(filter)[Symbol.asyncIterator]();
    for (;;) {
      const next = await abortable(boxes.next(), signal);
      if (next.done === true) return;
      const { id, name, labels, state, createdAt } = next.value;
      const { [MARK]: mark, ...asked } = labels;
      if (mark === undefined || state === 'destroyed') continue;
      yield { ref: { name, providerId: id }, labels: asked, state: toState(state), createdAt };
    }
  }

  async pause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#move(ref, 'paused', (box) => box.pause(), signal);
  }

  async resume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#move(ref, 'running', (box) => box.start(), signal);
  }

  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const box = await this.#known(ref, signal);
    if (box.autoDelete === 0) {
      throw new SubletError('UNSUPPORTED', `The sandbox ${ref.name} is ephemeral: it is gone when it stops.`, {
        hint: 'Use a session, whose sandbox can be stopped and started.',
      });
    }
    await this.#move(ref, 'stopped', (each) => each.stop(), signal);
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    const held = this.#held.get(ref.name);
    if (held !== undefined && options.env !== undefined) held.env = options.env;
    await this.#move(ref, 'running', (box) => box.start(), signal);
  }

  async extend(ref: SandboxRef, ms: number, signal: AbortSignal): Promise<number> {
    const box = await this.#known(ref, signal);
    const minutes = Math.max(1, Math.ceil(ms / MINUTE_MS));
    await abortable(box.setAutoStop(minutes), signal);
    return this.#context.clock.now() + minutes * MINUTE_MS;
  }

  async setNetwork(ref: SandboxRef, level: NetworkLevel, signal: AbortSignal): Promise<void> {
    const box = await this.#known(ref, signal);
    const fact = networkOf(box);
    if (level === 'none') return fact === 'none' ? undefined : abortable(box.blockNetwork(), signal);
    if (fact === level) return undefined;
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', `The network of ${ref.name} cannot become "${level}".`, {
      hint: 'A network only tightens, here to "none". Make a new sandbox for another level.',
    });
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    return abortable((await this.#known(ref, signal)).previewUrl(port), signal);
  }

  async close(): Promise<void> {
    this.#held.clear();
    await this.#api.close();
  }

  async #handle(name: string, found: DaytonaBox, env: SandboxSpec['env'], signal: AbortSignal): Promise<SandboxHandle> {
    // Some answers leave the network out: then it is not known, and not open.
    const box = found.networkBlockAll === undefined ? await abortable(this.#api.get(found.id), signal) : found;
    const held = await this.#hold(name, box, env, signal);
    return {
      ref: { name, providerId: box.id },
      state: toState(box.state),
      network: networkOf(box),
      workdir: held.workdir,
      deadManAt: deadManOf(box),
      commands: held.commands,
      files: createShellFiles((command, options) => held.commands.run(command, options), held.workdir),
      close: () => Promise.resolve(),
    };
  }

  async #hold(name: string, box: DaytonaBox, env: SandboxSpec['env'], signal: AbortSignal): Promise<Held> {
    const present = this.#held.get(name);
    if (present?.id === box.id) {
      present.env = env ?? present.env;
      return present;
    }
    const marked = box.labels[MARK];
    const isFixed = marked?.startsWith('/') === true;
    // What rests cannot be asked; where its working directory is matters when it runs again.
    const workdir = isFixed
      ? marked
      : box.state === 'started'
        ? await abortable(box.workdir(), signal)
        : (this.#config.cwd ?? '/home/daytona');
    const held: { -readonly [Field in keyof Held]?: Held[Field] } = { id: box.id, workdir, env: env ?? {} };
    const { clock } = this.#context;
    const { passesEnv } = this.#api;
    held.commands = createDaytonaCommands({ clock, name, box, passesEnv, workdir, env: () => held.env ?? {} });
    if (isFixed || box.state === 'started') this.#held.set(name, held as Held);
    return held as Held;
  }

  async #move(
    ref: SandboxRef,
    wanted: ProviderState,
    move: (box: DaytonaBox) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const box = await this.#known(ref, signal);
    if (toState(box.state) === wanted) return;
    await abortable(move(box), signal).catch(async (error: unknown) => {
      if (toState((await this.#known(ref, signal)).state) !== wanted) throw error;
    });
    await this.#until(box.id, ({ state }) => toState(state) === wanted, signal);
  }

  /** Asks until it is so, ever less often. CREATE_FAILED when it never will be. */
  async #until(id: string, isDone: (box: DaytonaBox) => boolean, signal: AbortSignal): Promise<DaytonaBox> {
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 1.3, MAX_LOOK_MS)) {
      const box = await abortable(this.#api.get(id), signal);
      if (isDone(box)) return box;
      if (box.state === 'error' || box.state === 'build_failed' || box.state === 'destroyed') throw failedError(box);
      await this.#wait(waitMs, signal);
    }
  }

  /** False when it is already gone. */
  async #beginToRemove(box: DaytonaBox, signal: AbortSignal): Promise<boolean> {
    return abortable(box.remove(), signal).then(
      () => true,
      (error: unknown) => {
        if (isGone(error)) return false;
        if (box.state === 'destroying') return true;
        throw error;
      },
    );
  }

  async #untilGone(id: string, name: string, signal: AbortSignal): Promise<void> {
    for (let look = 0, waitMs = FIRST_LOOK_MS; look < DELETE_LOOKS; look++) {
      const box = await this.#find({ name, providerId: id }, signal);
      if (box === undefined || box.state === 'destroyed') return;
      await this.#wait(waitMs, signal);
      waitMs = Math.min(waitMs * 1.3, MAX_LOOK_MS);
    }
    throw deletingError(name);
  }

  /** undefined when there is none, or one that is not ours. */
  async #find(ref: SandboxRef, signal: AbortSignal): Promise<DaytonaBox | undefined> {
    const box = await abortable(this.#api.get(ref.providerId ?? ref.name), signal).catch((error: unknown) => {
      if (isGone(error)) return undefined;
      throw error;
    });
    return box === undefined || box.state === 'destroyed' || box.labels[MARK] === undefined ? undefined : box;
  }

  async #known(ref: SandboxRef, signal: AbortSignal): Promise<DaytonaBox> {
    throwIfAborted(signal);
    return (await this.#find(ref, signal)) ?? Promise.reject(notFoundError(ref.name));
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(this.#context.clock, ms, signal).catch(() => undefined);
    throwIfAborted(signal);
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortedError(signal);
}

function toState(state: string): ProviderState {
  if (state === 'started') return 'running';
  if (state === 'paused') return 'paused';
  return ['stopped', 'archived', 'archiving'].includes(state) ? 'stopped' : 'unknown';
}

/** Only what the service says: an answer without it says nothing. */
function networkOf({ networkBlockAll }: DaytonaBox): NetworkFact {
  if (networkBlockAll === undefined) return 'unknown';
  return networkBlockAll ? 'none' : 'open';
}

function deadManOf({ autoStop, lastActiveAt }: DaytonaBox): number | undefined {
  if (autoStop === undefined || autoStop === 0 || lastActiveAt === undefined) return undefined;
  return lastActiveAt + autoStop * MINUTE_MS;
}

function failedError({ name, state, reason }: DaytonaBox): SubletError {
  return new SubletError(
    'CREATE_FAILED',
    `Daytona says that ${name} is in the state "${state}": ${reason ?? 'no reason'}.`,
    {
      hint: 'Look at its image or snapshot and its logs in the dashboard.',
    },
  );
}

function deletingError(name: string): SubletError {
  return toDaytonaError(new ServiceError(`${name} is being deleted and not yet gone`));
}
