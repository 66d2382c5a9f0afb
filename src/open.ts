/** The composition root: the one place that puts store, configuration, providers and manager together. */
import { access } from 'node:fs/promises';
import { automaticProvider } from './automatic-provider.ts';
import { isRunning, readIdentity } from './config/process-identity.ts';
import { createConfig, type Config } from './config/config.ts';
import { assertMakeable, ensureHome, homePaths, type Environment } from './config/home.ts';
import type { ResolvedConfig } from './config/resolve-sandbox.ts';
import type { StoreName } from './config/store-choice.ts';
import type { SandboxOptions, Sublet } from './core/api.ts';
import type { Clock } from './core/clock.ts';
import { isSamePlace, judgeLife } from './core/liveness.ts';
import { systemClock } from './core/system-clock.ts';
import { SubletError, toSubletError } from './core/errors.ts';
import type { SnapshotArchive } from './core/snapshots.ts';
import type { Manager } from './manager/create-manager.ts';
import type { ProviderContext, ProviderModule } from './provider/define-provider.ts';
import { kernelRandom } from './provider/posix/kernel-random.ts';
import type { Finding, Probe, SandboxProvider } from './provider/provider.ts';
import { PROVIDERS } from './providers/registry.gen.ts';
import type { Store } from './store/store.ts';
import { silentLog, warningLog, type Log } from './telemetry/log.ts';
import { Watch } from './watch.ts';

export interface OpenOptions {
  /** Where everything is kept. Default: `SUBLET_HOME`, else `~/.sublet`. */
  readonly home?: string | undefined;
  /** `memory` forgets when the process ends: for tests. Default: `SUBLET_STORE`, else `sqlite`, in the home. */
  readonly store?: StoreName | Store | undefined;
  /** Instead of the process's own variables. */
  readonly env?: Environment | undefined;
  /** Default: warnings are Node's, as `SubletWarning`. `silentLog` says nothing. */
  readonly log?: Log | undefined;
  readonly clock?: Clock | undefined;
  /** Close on SIGINT, SIGTERM and normal exit. Default true. */
  readonly handleSignals?: boolean | undefined;
  /** A small process that sees to what this one leaves if it is killed. Default: `SUBLET_WATCHDOG`, else true. */
  readonly watchdog?: boolean | undefined;
  /** What a slow create is doing, in words. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** A sandbox like this is about to be made: its provider gets ready while the store opens. */
  readonly expects?: ExpectedOptions | undefined;
  /** Adapters beside the built-in ones, by their id. */
  readonly providers?: readonly ProviderModule[] | undefined;
}

export interface ExpectedOptions extends SandboxOptions {
  /** By `run`, which makes it for one command. */
  readonly expectsOneCommand?: boolean | undefined;
}

/** Opens the engine. No provider is loaded before the first sandbox. */
export function open(options: OpenOptions = {}): Promise<Sublet> {
  return openManager({ ...options, log: options.log ?? warningLog });
}

/** The engine as the process that runs it sees it. */
export async function openManager(options: OpenOptions = {}): Promise<Manager> {
  const installation = openInstallation(options);
  const { clock, config, log } = installation;
  const opened = new Map<string, Promise<SandboxProvider>>();
  const provider = (id: string, profile: string): Promise<SandboxProvider> =>
    once(opened, `${id}\0${profile}`, () => openProvider(installation, id, profile));
  // Before the store: opening that keeps this process busy, and the provider's processes can start meanwhile.
  if (options.expects !== undefined) await warm(installation, options.expects, provider);
  const opening = openStore(options.store, config, options.expects !== undefined);
  const [{ createManager }, identity, store] = await Promise.all([
    import('./manager/create-manager.ts'),
    readIdentity(config.home),
    opening,
  ]).catch(async (cause: unknown) => {
    // What was given is its giver's.
    const made = typeof options.store === 'object' ? undefined : await opening.catch(() => undefined);
    await closeAll(opened, made).catch(() => {});
    throw cause;
  });
  const watch = new Watch({ ...options, config, log });
  const manager = await createManager(
    {
      store,
      clock,
      log,
      resolve: (wanted, facts) => resolve(installation, wanted, facts),
      provider,
      isRunning,
      pools: () => config.pools(),
      snapshots: () => openSnapshots(config),
      watch: (ownerId, id) => watch.begin(ownerId, id),
      identity,
    },
    {
      // The web's way to random bytes, which the engine takes by itself, is slow to load.
      random: kernelRandom,
      onClose: async (hasLeft) => {
        await closeAll(opened, store);
        if (hasLeft) await watch.end();
      },
      onProgress: ({ message }) => options.onProgress?.(message),
    },
  );
  if (options.handleSignals ?? true) (await import('./manager/install-exit-hooks.ts')).installExitHooks(manager);
  return manager;
}

/** Whatever is wrong here is said by the create that follows. */
async function warm(
  installation: Installation,
  expected: ExpectedOptions,
  provider: (id: string, profile: string) => Promise<SandboxProvider>,
): Promise<void> {
  try {
    const kind = 'execution';
    // Providers make what they need below the home, and take for granted that this is possible.
    await ensureHome(installation.config.home);
    const resolved = await resolve(installation, expected, { kind });
    const { expectsOneCommand } = expected;
    await (
      await provider(resolved.provider, resolved.profile)
    ).warm?.({ ...resolved, kind, ephemeral: true, expectsOneCommand });
  } catch {
    return;
  }
}

/** Configuration and adapters without an engine: what `config`, `providers` and `doctor` need. */
export interface Installation {
  readonly env: Environment;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly providerIds: readonly string[];
  /** Loads the adapter, once. PROFILE_NOT_FOUND if there is none. */
  module(id: string): Promise<ProviderModule>;
  /** What this machine allows. */
  probe(id: string): Promise<Probe>;
  /** Whether things can be remembered: writes beside a file, opens the store and closes it. A file that is yet to be made is not made. */
  probeStore(): Promise<Probe>;
}

export function openInstallation(options: OpenOptions = {}): Installation {
  const env = options.env ?? process.env;
  const log = options.log ?? silentLog;
  const clock = options.clock ?? systemClock;
  const loaders = {
    ...PROVIDERS,
    ...Object.fromEntries((options.providers ?? []).map((provider) => [provider.id, async () => ({ provider })])),
  };
  const loaded = new Map<string, Promise<ProviderModule>>();
  const module = (id: string): Promise<ProviderModule> => once(loaded, id, () => loadProvider(loaders, id));
  const providerIds = Object.keys(loaders);
  const config = createConfig({
    env,
    home: homePaths(options.home === undefined ? env : { ...env, SUBLET_HOME: options.home }),
    providers: { ids: providerIds, describe: module },
    automaticProvider: async () => automaticProvider(process.platform),
    warn: (message) => log.warn({}, message),
    now: () => clock.now(),
  });
  const installation: Installation = {
    env,
    config,
    clock,
    log,
    providerIds,
    module,
    probe: async (id) => (await module(id)).probe(await providerContext(installation, id, id)),
    probeStore: () => probeStore(config),
  };
  return installation;
}

async function openStore(store: StoreName | Store | undefined, config: Config, isBrief = false): Promise<Store> {
  if (typeof store === 'object') return store;
  const { value: choice } = await config.store(store);
  switch (choice.kind) {
    case 'memory':
      return (await import('./stores/memory/index.ts')).createMemoryStore();
    case 'postgres':
      return (await import('./stores/postgres/index.ts')).openPostgresStore({ url: choice.url.reveal() });
    case 'sqlite': {
      const [{ openSqliteStore }] = await Promise.all([import('./stores/sqlite/index.ts'), ensureHome(config.home)]);
      return openSqliteStore({ path: choice.path, isBrief });
    }
  }
}

async function probeStore(config: Config): Promise<Probe> {
  let name = 'SUBLET_STORE';
  try {
    const { value: choice } = await config.store();
    name = choice.shown;
    if (choice.kind === 'sqlite') await (await import('./stores/sqlite/try-place.ts')).tryPlace(choice.path);
    if (choice.kind === 'sqlite' && (await isMissing(choice.path))) {
      assertMakeable(config.home);
      return { usable: true, findings: [{ level: 'ok', name, message: 'made on first use' }] };
    }
    const store = await openStore(undefined, config);
    try {
      const installation = await store.installation();
      const owners = await findStaleOwners(store, config);
      const answer: Finding = { level: 'ok', name, message: `answers, installation ${installation}` };
      return { usable: true, findings: [answer, ...owners] };
    } finally {
      await store.close();
    }
  } catch (cause) {
    const { message, hint } = toSubletError(cause, 'STORE_FAILED');
    return { usable: false, findings: [{ level: 'fail', name, message, fix: hint }] };
  }
}

/** Processes that ended without leaving and whose sandboxes nobody has seen to yet. */
async function findStaleOwners(store: Store, config: Config): Promise<readonly Finding[]> {
  const here = await readIdentity(config.home);
  const owners = await store.listOwners();
  const lives = await Promise.all(
    owners.map(async (owner) => {
      const isHere = isSamePlace(owner, here);
      return judgeLife(owner, here, { isRunning: isHere ? await isRunning(owner) : undefined, silentMs: 0 });
    }),
  );
  const stale = owners
    .filter((_, index) => lives[index] === 'dead')
    .map(({ pid, hostName }) => `${pid} on ${hostName}`);
  if (stale.length === 0) return [];
  const message = `what these processes left waits to be seen to: ${stale.join(', ')}`;
  return [{ level: 'note', name: 'owners', message, fix: 'sublet reap' }];
}

async function isMissing(path: string): Promise<boolean> {
  return access(path).then(
    () => false,
    (cause: NodeJS.ErrnoException) => cause.code === 'ENOENT',
  );
}

async function openSnapshots(config: Config): Promise<SnapshotArchive> {
  return (await import('./config/snapshot-files.ts')).createSnapshotFiles(config.home.snapshotsDir);
}

async function resolve(
  installation: Installation,
  wanted: SandboxOptions,
  facts: Parameters<Config['resolve']>[1],
): ReturnType<Config['resolve']> {
  const { otherwise, ...first } = await installation.config.resolve(wanted, facts);
  const resolved = await withImage(installation, first);
  if (otherwise === undefined) return resolved;
  return { ...resolved, otherwise: await Promise.all(otherwise.map((choice) => withImage(installation, choice))) };
}

// Names that were given to images on this machine; an engine has its own.
async function withImage({ config }: Installation, resolved: ResolvedConfig): Promise<ResolvedConfig> {
  if (resolved.image === undefined || resolved.provider === 'docker') return resolved;
  const { resolveImage } = await import('./config/images.ts');
  return { ...resolved, image: await resolveImage(config.home, resolved.image) };
}

async function loadProvider(loaders: typeof PROVIDERS, id: string): Promise<ProviderModule> {
  const load = Object.hasOwn(loaders, id) ? loaders[id] : undefined;
  if (load !== undefined) return (await load()).provider;
  throw new SubletError('PROFILE_NOT_FOUND', `No provider is called "${id}".`, {
    hint: `Providers: ${Object.keys(loaders).join(', ')}.`,
  });
}

/** A new instance for a profile. The caller closes it. */
export async function openProvider(installation: Installation, id: string, profile: string): Promise<SandboxProvider> {
  const [module, context] = await Promise.all([installation.module(id), providerContext(installation, id, profile)]);
  return module.open(context);
}

async function providerContext(
  { config, clock, log, env }: Installation,
  id: string,
  profile: string,
): Promise<ProviderContext> {
  const settings = await config.providerSettings(id, profile);
  const { options } = settings;
  const stateDir = config.home.providerStateDir(id);
  return { stateDir, clock, log, options, env, secret: (name) => settings.secret(name) };
}

// A failure is not remembered: what was missing may be there the next time.
function once<T>(known: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const present = known.get(key);
  if (present !== undefined) return present;
  const made = make();
  known.set(key, made);
  made.catch(() => known.delete(key));
  return made;
}

async function closeAll(opened: ReadonlyMap<string, Promise<SandboxProvider>>, store?: Store): Promise<void> {
  const providers = await Promise.allSettled(opened.values());
  await Promise.allSettled(
    providers.map(async (each) => (each.status === 'fulfilled' ? each.value.close() : undefined)),
  );
  await store?.close();
}
