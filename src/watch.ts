/** Over this process, from its first sandbox that would outlive it until it leaves. */
import type { Config } from './config/config.ts';
import type { Environment } from './config/home.ts';
import type { StoreChoice, StoreName } from './config/store-choice.ts';
import type { OwnerId } from './core/ids.ts';
import { PROVIDERS } from './providers/registry.gen.ts';
import type { Watchdog } from './start-watchdog.ts';
import type { Store } from './store/store.ts';
import type { Log } from './telemetry/log.ts';

export interface WatchOptions {
  readonly config: Config;
  readonly log: Log;
  readonly env?: Environment | undefined;
  readonly store?: StoreName | Store | undefined;
  /** Default: as the configuration says. */
  readonly watchdog?: boolean | undefined;
}

export class Watch {
  readonly #options: WatchOptions;
  #watchdog: Promise<Watchdog | undefined> | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Twice is harmless. */
  begin(ownerId: OwnerId, providerId: string): void {
    if (this.#watchdog !== undefined || !this.#isWanted() || !Object.hasOwn(PROVIDERS, providerId)) return;
    this.#watchdog = this.#start(ownerId);
  }

  /** Nothing of this process is left to see to. */
  async end(): Promise<void> {
    await (await this.#watchdog)?.farewell();
  }

  #isWanted(): boolean {
    const { config, watchdog = config.watchdog().value } = this.#options;
    return watchdog && process.platform !== 'win32';
  }

  // Another process can open neither a store nor an adapter that is an object of this one.
  async #start(ownerId: OwnerId): Promise<Watchdog | undefined> {
    const { config, log, store, env = process.env } = this.#options;
    if (typeof store === 'object') return undefined;
    const { value: choice } = await config.store(store);
    if (choice.kind === 'memory') return undefined;
    const { startWatchdog } = await import('./start-watchdog.ts');
    const same = { SUBLET_HOME: config.home.home, SUBLET_STORE: nameOf(choice) };
    return startWatchdog(ownerId, { env: { ...env, ...same }, log });
  }
}

function nameOf(choice: Exclude<StoreChoice, { readonly kind: 'memory' }>): string {
  return choice.kind === 'sqlite' ? `sqlite:${choice.path}` : choice.url.reveal();
}
