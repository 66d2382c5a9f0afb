/**
 * LangSmith through its SDK. Sandboxes are managed by the client that is generated from the service's description: it has
 * labels, pages, statuses and signals, which `SandboxClient` leaves out. That one is for what happens inside a sandbox.
 */
import type { Client } from 'langsmith';
import type { Sandbox, SandboxClient } from 'langsmith/sandbox';
import type { Labels } from '../../core/spec.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import { type LangsmithConfig, SDK } from './langsmith-config.ts';
import { toLangsmithError, translated } from './langsmith-errors.ts';

type Boxes = Client['sandboxes']['boxes'];
type Snapshots = Client['sandboxes']['snapshots'];
export type Box = Awaited<ReturnType<Boxes['retrieve']>>;
export type NewBox = Parameters<Boxes['create']>[0];
export type BoxUpdate = Parameters<Boxes['update']>[1];
export type Snapshot = Awaited<ReturnType<Snapshots['retrieve']>>;

interface Clients {
  readonly boxes: Boxes;
  readonly snapshots: Snapshots;
  readonly inside: SandboxClient;
}

/** The header that says which workspace is meant. */
const WORKSPACE = 'X-Tenant-Id';
const PAGE_SIZE = 100;
/** The service may wait with its answer until the sandbox is ready. */
const CREATE_TIMEOUT_MS = 180_000;
const LOOK_TIMEOUT_MS = 30_000;
/** Asked once: what may be asked again is asked again by who wants it. */
const ONCE = { maxRetries: 0 } as const;

export class LangsmithApi {
  readonly #config: LangsmithConfig;
  #clients: Promise<Clients> | undefined;

  constructor(config: LangsmithConfig) {
    this.#config = config;
  }

  /** Returns when the service has begun to make it. STATE_CONFLICT when the name is taken. */
  async create(wanted: NewBox): Promise<Box> {
    const { boxes } = await this.#load();
    return translated(boxes.create(wanted, { ...ONCE, timeout: CREATE_TIMEOUT_MS }));
  }

  /** SANDBOX_NOT_FOUND when there is none. Does not wake it. */
  async get(name: string, signal: AbortSignal): Promise<Box> {
    const { boxes } = await this.#load();
    return this.#read(() => boxes.retrieve(name, once(signal)), signal);
  }

  /** Every page. */
  async *list(labels: Labels, signal: AbortSignal): AsyncGenerator<Box> {
    const { boxes } = await this.#load();
    const query = { page_size: PAGE_SIZE, label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) };
    const first = await this.#read(() => boxes.list(query, once(signal)), signal);
    try {
      for await (const page of first.iterPages()) yield* page.items;
    } catch (cause) {
      throw toLangsmithError(cause, signal);
    }
  }

  async update(name: string, change: BoxUpdate, signal: AbortSignal): Promise<Box> {
    const { boxes } = await this.#load();
    return translated(boxes.update(name, change, once(signal)), signal);
  }

  /** Returns when the service has begun to delete it. */
  async delete(id: string, signal: AbortSignal): Promise<void> {
    const { boxes } = await this.#load();
    await translated(boxes.delete(id, once(signal)), signal);
  }

  async stop(name: string, signal: AbortSignal): Promise<void> {
    const { boxes } = await this.#load();
    await translated(boxes.stop(name, once(signal)), signal);
  }

  async start(name: string, signal: AbortSignal): Promise<void> {
    const { boxes } = await this.#load();
    await translated(boxes.start(name, once(signal)), signal);
  }

  async takeSnapshot(name: string, snapshot: string, signal: AbortSignal): Promise<Snapshot> {
    const { boxes } = await this.#load();
    return translated(boxes.createSnapshot(name, { name: snapshot }, once(signal)), signal);
  }

  async getSnapshot(id: string, signal: AbortSignal): Promise<Snapshot> {
    const { snapshots } = await this.#load();
    return this.#read(() => snapshots.retrieve(id, once(signal)), signal);
  }

  /** A link for a browser: whoever has it reaches the port until it expires. */
  async serviceUrl(name: string, port: number, seconds: number, signal: AbortSignal): Promise<string | undefined> {
    const { boxes } = await this.#load();
    const wanted = { port, expires_in_seconds: seconds };
    return (await translated(boxes.generateServiceURL(name, wanted, once(signal)), signal)).browser_url;
  }

  /** The sandbox from inside. */
  async inside(name: string): Promise<Sandbox> {
    const { inside } = await this.#load();
    return translated(inside.getSandbox(name, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) }));
  }

  close(): Promise<void> {
    this.#clients = undefined;
    return Promise.resolve();
  }

  /** A connection that was closed while nobody looked is no reason to fail. */
  async #read<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const answer = ask().catch((cause: unknown) => {
      const isAnswered = (cause as { readonly status?: number }).status !== undefined;
      if (isAnswered || signal.aborted) throw cause;
      return ask();
    });
    return translated(answer, signal);
  }

  #load(): Promise<Clients> {
    this.#clients ??= this.#open().catch((error: unknown) => {
      this.#clients = undefined;
      throw error;
    });
    return this.#clients;
  }

  async #open(): Promise<Clients> {
    const { apiKey, endpoint, workspace } = this.#config;
    const load = () => Promise.all([import('langsmith'), import('langsmith/sandbox')]);
    const [outer, inner] = await loadSdk('langsmith', SDK, load);
    const fetchImplementation = ownFetch(workspace);
    const client = new outer.Client({ apiKey, apiUrl: endpoint, disablePromptCache: true, fetchImplementation });
    const inside = new inner.SandboxClient({
      apiKey,
      apiEndpoint: `${endpoint}/api/v2/sandboxes`,
      // It would run a command again whose answer was lost.
      maxRetries: 0,
      ...(workspace === undefined ? {} : { headers: { [WORKSPACE]: workspace } }),
    });
    const { boxes, snapshots } = client.sandboxes;
    return { boxes, snapshots, inside };
  }
}

/** The client listens to a signal for as long as that lives, so each request has one of its own. */
function once(signal: AbortSignal): { readonly maxRetries: 0; readonly signal: AbortSignal } {
  return { ...ONCE, signal: AbortSignal.any([signal]) };
}

/**
 * The client takes a workspace from files and variables of its own, where the one for the inside takes none: both speak to
 * the one that Sublet was told. And it asks for the server's version only to warn on the console, which is not ours.
 */
function ownFetch(workspace: string | undefined): typeof fetch {
  return async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    if (pathname.endsWith('/info')) return Response.json({});
    const headers = new Headers(init?.headers);
    if (workspace === undefined) headers.delete(WORKSPACE);
    else headers.set(WORKSPACE, workspace);
    return fetch(input, { ...init, headers });
  };
}
