/** A store, a cloud and a clock, with as many processes over them as a test needs. Whatever is still open is closed after each test. */
import { afterEach } from 'vitest';
import type { Manager } from '../../src/manager/create-manager.ts';
import { createManager } from '../../src/manager/create-manager.ts';
import type { ManagerOptions } from '../../src/manager/manager-options.ts';
import type { ManagerPorts } from '../../src/manager/ports.ts';
import type { SandboxId } from '../../src/core/ids.ts';
import type { SandboxRecord } from '../../src/store/records.ts';
import type { MemoryStore } from '../../src/stores/memory/memory-store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import type { FaultyPorts, FaultyPortsOptions, FaultyProcess, FaultyProviderOptions } from '../../src/testing/index.ts';
import {
  FaultyMachine,
  FaultyWorld,
  ManualClock,
  createFaultyPorts,
  createFaultyProvider,
} from '../../src/testing/index.ts';

export const SECOND = 1_000;
export const MINUTE: number = 60 * SECOND;

export interface StageProcess {
  readonly manager: Manager;
  readonly ports: FaultyPorts;
  /** As SIGKILL. */
  kill(): void;
}

export interface StageOptions extends FaultyPortsOptions {
  readonly world?: FaultyWorld | undefined;
  readonly manager?: ManagerOptions | undefined;
  /** What this process sees otherwise than the stage has it. */
  readonly ports?: ((ports: FaultyPorts) => Partial<ManagerPorts>) | undefined;
}

/** More providers, each over a world of its own and chosen by its name: `session({ sandbox: 'other' })`. */
export function withProviders(
  worlds: Readonly<Record<string, FaultyWorld>>,
  options: FaultyProviderOptions = {},
): (ports: FaultyPorts) => Partial<ManagerPorts> {
  const providers = Object.fromEntries(
    Object.entries(worlds).map(([id, world]) => [id, createFaultyProvider(world, { ...options, id })]),
  );
  return (ports) => ({
    provider: async (id, profile) => providers[id] ?? ports.provider(id, profile),
    resolve: async (asked, facts) => {
      const resolved = await ports.resolve(asked, facts);
      return resolved.profile in providers ? { ...resolved, provider: resolved.profile } : resolved;
    },
  });
}

const stages: Stage[] = [];

export class Stage {
  readonly clock: ManualClock = new ManualClock();
  readonly world: FaultyWorld = new FaultyWorld(this.clock);
  readonly store: MemoryStore = createMemoryStore();
  readonly machine: FaultyMachine = new FaultyMachine('alpha');
  readonly #open: { readonly manager: Manager; readonly process: FaultyProcess }[] = [];

  constructor() {
    stages.push(this);
  }

  async process(options: StageOptions = {}): Promise<StageProcess> {
    const machine = options.machine ?? this.machine;
    const process = options.process ?? machine.start();
    const ports = createFaultyPorts(options.world ?? this.world, this.store, { ...options, machine, process });
    const manager = await createManager({ ...ports, ...options.ports?.(ports) }, options.manager);
    this.#open.push({ manager, process });
    return { manager, ports, kill: () => process.kill() };
  }

  async row(id: SandboxId): Promise<SandboxRecord> {
    const row = await this.store.getSandbox(id);
    if (row === undefined) throw new Error(`no row ${id}`);
    return row;
  }

  /** The promise's result, once the clock has moved as far as it takes. */
  async passing<T>(work: Promise<T>, ms: number = MINUTE): Promise<T> {
    const settled = Promise.allSettled([work]);
    await this.clock.advance(ms);
    const [result] = await settled;
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }

  async close(): Promise<void> {
    const living = this.#open.splice(0).filter(({ process }) => !process.isDead);
    const closing = Promise.all(living.map(({ manager }) => manager.close()));
    await this.clock.advance(MINUTE);
    await closing;
  }
}

afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});
