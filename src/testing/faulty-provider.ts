/** A provider in memory that goes wrong on demand: slow, lost answers, 429, phantom not-found, stuck, duplicates, crashes. */
import type { Commands } from '../core/commands.ts';
import { SubletError } from '../core/errors.ts';
import type { NetworkLevel } from '../core/network.ts';
import { isAtLeastAsTight } from '../core/network.ts';
import type { Labels, SandboxMetrics } from '../core/spec.ts';
import type { Capability } from '../provider/capabilities.ts';
import type {
  ListedSandbox,
  ResetReport,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSpec,
} from '../provider/provider.ts';
import type { Fault, FaultyBox, FaultyOperation, FaultyWorld } from './faulty-provider-world.ts';
import { PhantomNotFound } from './faulty-provider-world.ts';

export const FAULTY_CAPABILITIES: readonly Capability[] = [
  'pause',
  'stop',
  'metrics',
  'labels',
  'volumes',
  'mounts',
  'network-none',
  'network-allowlist',
  'network-open',
  'network-live',
  'limit-memory',
  'background',
  'reset',
];

type Env = Readonly<Record<string, string>>;

export interface FaultyProviderOptions {
  readonly id?: string | undefined;
  /** Default: all it can do. */
  readonly capabilities?: readonly Capability[] | undefined;
  /** Its sandboxes can be reached from its own machine only. Default false. */
  readonly boundToHost?: SandboxProvider['boundToHost'];
  /** Sandboxes on one page of `list`. Default 2, so that a second page is never far. */
  readonly pageSize?: number | undefined;
}

/** Several providers over one world are several processes over one cloud. */
export function createFaultyProvider(world: FaultyWorld, options: FaultyProviderOptions = {}): SandboxProvider {
  const capabilities = new Set(options.capabilities ?? FAULTY_CAPABILITIES);
  const provider: SandboxProvider = {
    id: options.id ?? 'faulty',
    capabilities,
    boundToHost: options.boundToHost,
    create: (spec, signal) => create(world, spec, signal),
    attach: (ref, signal, asked) => attach(world, ref, signal, asked?.env ?? {}),
    async destroy(ref, signal) {
      await quietIfPhantom(world.perform('destroy', signal, () => world.remove(ref.name)));
    },
    list: (filter, signal) => list(world, filter, signal, options.pageSize ?? 2),
    async close() {},
  };
  return {
    ...provider,
    ...(capabilities.has('pause')
      ? {
          pause: (ref: SandboxRef, signal: AbortSignal) =>
            change(world, 'pause', ref, signal, (box) => world.setState(box, 'paused')),
          resume: (ref: SandboxRef, signal: AbortSignal) =>
            change(world, 'resume', ref, signal, (box) => world.setState(box, 'running')),
        }
      : {}),
    ...(capabilities.has('stop')
      ? {
          stop: (ref: SandboxRef, signal: AbortSignal) =>
            change(world, 'stop', ref, signal, (box) => world.setState(box, 'stopped')),
          start: (ref: SandboxRef, signal: AbortSignal) =>
            change(world, 'start', ref, signal, (box) => world.setState(box, 'running')),
        }
      : {}),
    ...(capabilities.has('network-live')
      ? {
          setNetwork: (ref: SandboxRef, level: NetworkLevel, signal: AbortSignal) =>
            change(world, 'setNetwork', ref, signal, (box) => tighten(box, level)),
        }
      : {}),
    ...(capabilities.has('reset')
      ? {
          reset: (ref: SandboxRef, signal: AbortSignal) =>
            change(world, 'reset', ref, signal, (box, fault) => reset(world, box, fault)),
        }
      : {}),
    ...(capabilities.has('metrics')
      ? { metrics: (ref: SandboxRef, signal: AbortSignal) => change(world, 'metrics', ref, signal, metricsOf) }
      : {}),
  };
}

function create(world: FaultyWorld, spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
  let made = 0;
  return world.perform('create', signal, () => {
    // A second call of this work is the `duplicate` fault: a cloud that does not keep names unique.
    const present = made === 0 ? world.find(spec.name) : undefined;
    made += 1;
    return toHandle(world, present ?? world.add(spec), spec.env ?? {});
  });
}

async function attach(
  world: FaultyWorld,
  ref: SandboxRef,
  signal: AbortSignal,
  env: Env,
): Promise<SandboxHandle | undefined> {
  return quietIfPhantom(
    world.perform('attach', signal, () => {
      const box = world.find(ref.name);
      return box === undefined ? undefined : toHandle(world, box, env);
    }),
  );
}

async function* list(
  world: FaultyWorld,
  filter: Labels,
  signal: AbortSignal,
  pageSize: number,
): AsyncIterable<ListedSandbox> {
  for (let from = 0; ; from += pageSize) {
    const page = await world.perform('list', signal, () => world.listed.slice(from, from + pageSize));
    for (const box of page) {
      if (!Object.entries(filter).every(([name, value]) => box.labels[name] === value)) continue;
      yield {
        ref: refOf(box),
        labels: box.labels,
        state: box.state === 'gone' ? 'unknown' : box.state,
        createdAt: box.createdAt,
      };
    }
    if (page.length < pageSize) return;
  }
}

async function change<T>(
  world: FaultyWorld,
  operation: FaultyOperation,
  ref: SandboxRef,
  signal: AbortSignal,
  work: (box: FaultyBox, fault?: Fault) => T,
): Promise<T> {
  try {
    return await world.perform(operation, signal, (fault) => {
      const box = world.find(ref.name);
      if (box === undefined) throw new PhantomNotFound();
      return work(box, fault);
    });
  } catch (cause) {
    if (cause instanceof PhantomNotFound)
      throw new SubletError('SANDBOX_NOT_FOUND', `No sandbox ${ref.name}.`, { cause });
    throw cause;
  }
}

function tighten(box: FaultyBox, level: NetworkLevel): void {
  if (!isAtLeastAsTight(level, box.network)) throw new SubletError('STATE_CONFLICT', `${box.name} does not loosen.`);
  box.network = level;
}

/** What it cannot undo it leaves as it is, so that a caller who does not read the report hands it on. */
function reset(world: FaultyWorld, box: FaultyBox, fault: Fault | undefined): ResetReport {
  const { spec } = box;
  const differences = [
    ...(fault === undefined ? [] : ['a file that was not there: /workspace/left-behind']),
    ...(box.network === spec.network ? [] : [`the network is ${box.network} and was ${spec.network}`]),
    ...(spec.contextId === undefined ? [] : ['its volume outlives it: what was written there cannot be undone']),
    ...(spec.mounts ?? [])
      .filter(({ readOnly }) => readOnly === false)
      .map(({ target }) => `${target} is the host's and can be written`),
  ];
  if (differences.length === 0) world.renew(box);
  return { clean: differences.length === 0, differences };
}

function metricsOf(): SandboxMetrics {
  return { memoryBytes: 1024, processes: 1 };
}

function toHandle(world: FaultyWorld, box: FaultyBox, env: Env): SandboxHandle {
  return {
    ref: refOf(box),
    state: box.state === 'gone' ? 'unknown' : box.state,
    network: box.network,
    workdir: '/workspace',
    commands: faultyCommands(world, box.commands, env),
    files: box.files,
    async close() {},
  };
}

// The variables are the handle's: a cloud that forgets them must be told again by whoever attaches.
function faultyCommands(world: FaultyWorld, commands: Commands, env: Env): Commands {
  return {
    async run(command, options) {
      await lostIfPhantom(world.perform('command', options?.signal, () => {}));
      return commands.run(command, { ...options, env: { ...env, ...options?.env } });
    },
    start: (command, options) => commands.start(command, { ...options, env: { ...env, ...options?.env } }),
    attach: (id) => commands.attach(id),
    list: () => commands.list(),
  };
}

function refOf(box: FaultyBox): SandboxRef {
  return { name: box.name, providerId: box.providerId };
}

async function quietIfPhantom<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof PhantomNotFound) return undefined;
    throw cause;
  }
}

async function lostIfPhantom(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if (cause instanceof PhantomNotFound) throw new SubletError('SANDBOX_LOST', 'The sandbox is gone.', { cause });
    throw cause;
  }
}
