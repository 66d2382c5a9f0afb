/** Runloop through its SDK. What may be asked again is; a create, a command and a change of state never are. */
import type { Runloop } from '@runloop/api-client';
import type { ShellAnswer } from '../../provider/posix/inside/called-process.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import { type RunloopConfig, SDK } from './runloop-config.ts';
import { toRunloopError, translated } from './runloop-errors.ts';

export type Devbox = Runloop.DevboxView;
export type NewDevbox = Runloop.DevboxCreateParams;
export type SnapshotStatus = Awaited<ReturnType<Runloop['devboxes']['diskSnapshots']['queryStatus']>>;

const READ_RETRIES = 1;
const PAGE_SIZE = 100;
/** Lines of output that the service returns at most, unless it is told. */
const ALL_LINES = '1000000';
/** For one request: the service answers after half a minute at most, and is then asked again. */
const EXEC_TIMEOUT_MS = 120_000;

export class RunloopApi {
  readonly #config: RunloopConfig;
  #client: Promise<Runloop> | undefined;

  constructor(config: RunloopConfig) {
    this.#config = config;
  }

  /** Returns when the service has begun to make it. */
  async create(wanted: NewDevbox): Promise<Devbox> {
    const { devboxes } = await this.#load();
    return translated(devboxes.create(wanted, { maxRetries: 0 }));
  }

  /** SANDBOX_NOT_FOUND when there never was one. */
  async get(id: string, signal: AbortSignal): Promise<Devbox> {
    const { devboxes } = await this.#load();
    return translated(devboxes.retrieve(id, within(signal, READ_RETRIES)), signal);
  }

  /** Every page, those that were shut down included. */
  async *list(signal: AbortSignal): AsyncGenerator<Devbox> {
    const { devboxes } = await this.#load();
    try {
      yield* devboxes.list({ limit: PAGE_SIZE }, within(signal, READ_RETRIES));
    } catch (cause) {
      throw toRunloopError(cause, signal);
    }
  }

  async shutdown(id: string, signal: AbortSignal): Promise<void> {
    const { devboxes } = await this.#load();
    await translated(devboxes.shutdown(id, {}, within(signal)), signal);
  }

  async suspend(id: string, signal: AbortSignal): Promise<void> {
    const { devboxes } = await this.#load();
    await translated(devboxes.suspend(id, within(signal)), signal);
  }

  async resume(id: string, signal: AbortSignal): Promise<void> {
    const { devboxes } = await this.#load();
    await translated(devboxes.resume(id, within(signal)), signal);
  }

  async keepAlive(id: string, signal: AbortSignal): Promise<void> {
    const { devboxes } = await this.#load();
    await translated(devboxes.keepAlive(id, within(signal)), signal);
  }

  /** Returns its id when the service has begun to take it. */
  async takeSnapshot(id: string, name: string, signal: AbortSignal): Promise<string> {
    const { devboxes } = await this.#load();
    return (await translated(devboxes.snapshotDiskAsync(id, { name }, within(signal)), signal)).id;
  }

  async snapshotStatus(id: string, signal: AbortSignal): Promise<SnapshotStatus> {
    const { devboxes } = await this.#load();
    return translated(devboxes.diskSnapshots.queryStatus(id, within(signal, READ_RETRIES)), signal);
  }

  /** Where a port of the devbox is reached, through a tunnel that is opened if there is none. */
  async portUrl(id: string, port: number, signal: AbortSignal): Promise<string> {
    const { devboxes } = await this.#load();
    const tunnel = await translated(devboxes.enableTunnel(id, {}, within(signal)), signal);
    const { protocol, host } = new URL(this.#config.baseUrl);
    return `${protocol}//${port}-${tunnel.tunnel_key}.tunnel.${host.replace(/^api\./, '')}`;
  }

  /** Runs a script with `sh`. Its variables are part of it: Runloop passes none. */
  async execute(id: string, script: string): Promise<ShellAnswer> {
    const { devboxes } = await this.#load();
    const params = { command: `sh -c ${shellQuote(script)}`, last_n: ALL_LINES };
    const answer = await translated(
      devboxes.executeAndAwaitCompletion(id, params, { maxRetries: 0, timeout: EXEC_TIMEOUT_MS }),
    );
    return { exitCode: answer.exit_status ?? null, output: answer.stdout ?? '' };
  }

  /** Replaces what is at the path, which begins at the user's home. */
  async upload(id: string, path: string, bytes: Uint8Array): Promise<void> {
    const { devboxes } = await this.#load();
    const file = new File([Uint8Array.from(bytes)], 'input');
    await translated(devboxes.uploadFile(id, { path, file }, { maxRetries: 0 }));
  }

  close(): Promise<void> {
    this.#client = undefined;
    return Promise.resolve();
  }

  #load(): Promise<Runloop> {
    this.#client ??= this.#open().catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #open(): Promise<Runloop> {
    const { Runloop: Client } = await loadSdk('runloop', SDK, () => import('@runloop/api-client'));
    const { apiKey, baseUrl } = this.#config;
    // Over plain HTTP its HTTP/2 is spoken without asking, which other servers do not understand.
    const plain = baseUrl.startsWith('http:') ? { http2: false } : {};
    return new Client({ bearerToken: apiKey, baseURL: baseUrl, ...plain });
  }
}

/** The SDK leaves a listener at each signal, so each request has one of its own. */
function within(signal: AbortSignal, maxRetries = 0): { readonly signal: AbortSignal; readonly maxRetries: number } {
  return { signal: AbortSignal.any([signal]), maxRetries };
}
