/** Machines and processes of a test: several managers on one store are several processes, and each can be killed. */
import type { Clock } from '../core/clock.ts';
import type { SandboxProvider } from '../provider/provider.ts';
import type { OwnerRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';

export type FaultyIdentity = Pick<
  OwnerRecord,
  'hostId' | 'hostName' | 'bootId' | 'pidNamespace' | 'pid' | 'pidStartedAt'
>;

export class FaultyMachine {
  readonly name: string;
  readonly #running = new Map<number, FaultyProcess>();
  #boots = 1;
  #started = 0;

  constructor(name = 'testing') {
    this.name = name;
  }

  /** `pid`: a number that an earlier process had, to be given again. */
  start(pid: number = this.#started + 1): FaultyProcess {
    this.#started += 1;
    const process = new FaultyProcess({
      hostId: `host-${this.name}`,
      hostName: this.name,
      bootId: `boot-${this.#boots}`,
      pidNamespace: 'pid:[1]',
      pid,
      pidStartedAt: this.#started,
    });
    this.#running.set(pid, process);
    return process;
  }

  /** As the kernel would say: a pid that was given to another process is not the one that was asked for. */
  async isRunning({ pid, pidStartedAt }: Pick<FaultyIdentity, 'pid' | 'pidStartedAt'>): Promise<boolean> {
    const process = this.#running.get(pid);
    return process !== undefined && !process.isDead && process.identity.pidStartedAt === pidStartedAt;
  }

  /** Every process ends, and what starts from now on is of another boot. */
  reboot(): void {
    for (const process of this.#running.values()) process.kill();
    this.#running.clear();
    this.#boots += 1;
  }
}

export class FaultyProcess {
  readonly identity: FaultyIdentity;
  #isDead = false;

  constructor(identity: FaultyIdentity) {
    this.identity = identity;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** As SIGKILL: nothing of it happens any more. What it had asked for may still be done; it does not learn of it. */
  kill(): void {
    this.#isDead = true;
  }

  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      elapsed: () => clock.elapsed(),
      schedule: (ms, callback, options) => clock.schedule(ms, () => void (this.#isDead || callback()), options),
    };
  }

  store(store: Store): Store {
    const { leases, ledger, pools } = store;
    return this.#mortal(store, {
      leases: this.#mortal(leases),
      ledger: this.#mortal(ledger),
      pools: this.#mortal(pools),
    });
  }

  provider(provider: SandboxProvider): SandboxProvider {
    const alive = <T>(work: Promise<T>): Promise<T> => this.#answer(work);
    return this.#mortal(provider, {
      async *list(...call: Parameters<SandboxProvider['list']>) {
        const listing = provider.list(...call)[Symbol.asyncIterator]();
        for (;;) {
          const next = await alive(listing.next());
          if (next.done === true) return;
          yield next.value;
        }
      },
    });
  }

  #mortal<T extends object>(target: T, instead: Partial<T> = {}): T {
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(name in instead ? instead : target, name);
        if (typeof value !== 'function' || name in instead) return value;
        return (...call: readonly unknown[]) =>
          this.#isDead ? new Promise(() => {}) : this.#answer(Reflect.apply(value, target, call));
      },
    });
  }

  async #answer<T>(work: Promise<T>): Promise<T> {
    const settled = await Promise.allSettled([work]);
    if (this.#isDead) return new Promise<never>(() => {});
    const [result] = settled;
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }
}
