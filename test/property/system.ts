/** Two managers over one store and one faulty world, under a clock that moves only when nothing else can. */
import { createManager, type Manager } from '../../src/manager/create-manager.ts';
import type { LifecyclePolicy } from '../../src/core/policy.ts';
import type { Store } from '../../src/store/store.ts';
import { createFaultyPorts, FaultyWorld, ManualClock, settle } from '../../src/testing/index.ts';
import type { Who } from './actions.ts';

const STEP_MS = 250;
const MINUTE_MS = 60_000;

export class System {
  readonly clock: ManualClock = new ManualClock();
  readonly world: FaultyWorld = new FaultyWorld(this.clock);
  /** As it is, for looking. */
  readonly store: Store;
  readonly #busyStore: BusyStore;
  readonly #policy: Partial<LifecyclePolicy>;
  readonly #managers: Manager[] = [];
  /** Which manager is which process, and whether it still runs. */
  readonly #running = new Map<Manager, number>();
  #opened = 0;

  constructor(store: Store, policy: Partial<LifecyclePolicy>) {
    this.store = store;
    this.#busyStore = watchCalls(store);
    this.#policy = policy;
  }

  async open(): Promise<void> {
    this.#managers.push(await this.#manager(), await this.#manager());
  }

  manager(who: Who): Manager {
    const manager = this.#managers[who];
    if (manager === undefined) throw new Error('not open');
    return manager;
  }

  /** The manager leaves in order; another one takes its place. */
  async reopen(who: Who): Promise<void> {
    await this.until(this.manager(who).close());
    this.#running.delete(this.manager(who));
    this.#managers[who] = await this.#manager();
  }

  async close(): Promise<void> {
    await this.until(Promise.all(this.#managers.map((manager) => manager.close())));
  }

  /** The promise's outcome. Time passes only while neither the store nor a promise has anything to do. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const done = promise.finally(() => (isDone = true));
    done.catch(() => undefined);
    for (;;) {
      await this.quiet();
      if (isDone) return done;
      await this.clock.advance(STEP_MS);
    }
  }

  async wait(minutes: number): Promise<void> {
    for (let ms = 0; ms < minutes * MINUTE_MS; ms += 20 * STEP_MS) {
      await this.clock.advance(20 * STEP_MS);
      await this.quiet();
    }
  }

  /** Everything that needs no time has happened. */
  async quiet(): Promise<void> {
    do {
      await settle();
      while (this.#busyStore.calls > 0) await new Promise((resolve) => setTimeout(resolve, 1));
      await settle();
    } while (this.#busyStore.calls > 0);
  }

  async #manager(): Promise<Manager> {
    const pid = ++this.#opened;
    const ports = createFaultyPorts(this.world, this.#busyStore.store, { policy: this.#policy });
    const manager = await createManager({
      ...ports,
      identity: { ...ports.identity, pid },
      isRunning: async (process) => [...this.#running.values()].includes(process.pid),
    });
    this.#running.set(manager, pid);
    return manager;
  }
}

interface BusyStore {
  readonly store: Store;
  /** Calls that have not been answered. */
  readonly calls: number;
}

/** The same store, counting what is under way: a database takes real time, in which virtual time must not run away. */
function watchCalls(store: Store): BusyStore {
  let calls = 0;
  const watch = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member === 'object' && member !== null) return watch(member);
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]): Promise<unknown> => {
          calls += 1;
          try {
            return await (Reflect.apply(member, target, args) as Promise<unknown>);
          } finally {
            calls -= 1;
          }
        };
      },
    });
  return {
    store: watch(store),
    get calls() {
      return calls;
    },
  };
}
