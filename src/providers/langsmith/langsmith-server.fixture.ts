/** LangSmith's sandboxes on loopback, with real ones behind it. It refuses what the service refuses. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { SandboxProvider } from '../../provider/provider.ts';
import { type BackingSandbox, BackingSandboxes } from '../../testing/loopback/backing-sandboxes.ts';
import type { Answer } from '../../testing/loopback/fault-switchboard.ts';
import { type LoopbackRequest, LoopbackServer, Refusal } from '../../testing/loopback/loopback-server.ts';
import { checkBox, type CreateBody, networkOf, type UpdateBody } from './box-rules.fixture.ts';
import { LangsmithDataplane } from './langsmith-dataplane.fixture.ts';
import { SnapshotShelf } from './snapshot-shelf.fixture.ts';

const PREFIX = '/api/v2/sandboxes/';
const DEFAULT_PAGE = 20;

export class LangsmithServer extends LoopbackServer {
  readonly sandboxes: BackingSandboxes;
  readonly dataplane: LangsmithDataplane = new LangsmithDataplane();
  /** What was asked of the creates that were met. */
  readonly created: CreateBody[] = [];
  /** Which workspaces were named, by any request. */
  readonly workspaces: Set<string | undefined> = new Set();
  readonly #apiKey: string;
  readonly #snapshots = new SnapshotShelf();
  /** Names are unique from the moment they are asked for. */
  readonly #making = new Map<string, Promise<unknown>>();
  /** They say that they are stopped from the moment they are told to. */
  readonly #stopping = new Map<string, Promise<void>>();
  /** They say that they are being made until they are looked at. */
  readonly #fresh = new Set<string>();

  constructor(provider: SandboxProvider, apiKey: string) {
    super({ answer: (request) => this.#answer(request), refuse: ({ message }) => refusalBody(message) });
    this.#apiKey = apiKey;
    this.sandboxes = new BackingSandboxes(provider);
    this.http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => undefined);
      void this.#upgrade(request, socket, head);
    });
  }

  override async close(): Promise<void> {
    await this.dataplane.close();
    await super.close();
    await this.sandboxes.close();
  }

  async #answer({ method, url: { pathname, searchParams }, headers, body }: LoopbackRequest): Promise<unknown> {
    this.#assertAllowed(headers);
    const [, id, path] = /^\/dataplane\/([^/]+)\/(.+)$/.exec(pathname) ?? [];
    if (id !== undefined) {
      return this.dataplane.serve(await this.#awake(id), `${method} ${path}`, searchParams, body);
    }
    if (!pathname.startsWith(PREFIX)) throw new Refusal(404, 'Not Found');
    const [kind, key, action] = pathname.slice(PREFIX.length).split('/').map(decodeURIComponent);
    if (kind === 'snapshots' && key !== undefined) return this.#snapshots.view(key);
    if (kind !== 'boxes') throw new Refusal(404, 'Not Found');
    if (key === undefined) return method === 'POST' ? this.#create(body as CreateBody) : this.#list(searchParams);
    const box = await this.#find(key);
    if (action !== undefined) return this.#act(box, `${method} ${action}`, body);
    switch (method) {
      case 'GET':
        this.#fresh.delete(box.id);
        return this.#view(box);
      case 'PATCH':
        checkBox(body as UpdateBody);
        this.sandboxes.update(box.id, { facts: body as Readonly<Record<string, unknown>> });
        return this.#view(await this.#find(key));
      case 'DELETE':
        this.dataplane.forget(box.id);
        await this.sandboxes.remove(box.id);
        return undefined;
      default:
        throw new Refusal(405, 'Method Not Allowed');
    }
  }

  #assertAllowed(headers: IncomingHttpHeaders): void {
    if (headers['x-api-key'] !== this.#apiKey) throw new Refusal(401, 'Invalid API key');
    this.workspaces.add(headers['x-tenant-id']?.toString());
  }

  async #act(box: BackingSandbox, action: string, body: unknown): Promise<unknown> {
    const { port, expires_in_seconds: seconds = 600, name } = body as Readonly<Record<string, unknown>>;
    switch (action) {
      case 'POST stop':
        if (box.state !== 'running') throw new Refusal(409, 'Sandbox is not ready');
        this.#stopping.set(box.id, this.#rest(box));
        return this.#stopping.get(box.id)?.finally(() => this.#stopping.delete(box.id));
      case 'POST start':
        if (box.state === 'running') throw new Refusal(409, 'Sandbox is already running');
        return this.#view(await this.#awake(box.id));
      case 'POST snapshot':
        if (typeof name !== 'string') throw new Refusal(422, 'name is required');
        return this.#snapshots.take(name, box);
      case 'POST service-url': {
        if (typeof port !== 'number' || port < 1 || port > 65_535) throw new Refusal(422, 'port is out of range');
        if (Number(seconds) > 86_400) throw new Refusal(422, 'expires_in_seconds is at most 24 hours');
        const url = `http://${box.id}--${port}.localhost:${new URL(this.url).port}/`;
        return { service_url: url, browser_url: `${url}_svc/auth?token=t`, token: 't' };
      }
      default:
        throw new Refusal(404, 'Not Found');
    }
  }

  async #create(body: CreateBody): Promise<unknown> {
    this.created.push(body);
    checkBox(body);
    const from = body.snapshot_id ?? body.snapshot_name;
    const snapshot = from === undefined ? undefined : this.#snapshots.require(from);
    const name = body.name ?? `box-${randomUUID()}`;
    if (this.#making.has(name) || this.sandboxes.all().some((each) => each.name === name)) {
      throw new Refusal(409, `Sandbox '${name}' already exists`);
    }
    const { labels, ...facts } = body;
    const making = this.sandboxes.create({
      name,
      labels: { ...snapshot?.labels, ...labels },
      network: networkOf(body),
      facts: { idle_ttl_seconds: 600, delete_after_stop_seconds: 1_209_600, ...facts, snapshot_id: snapshot?.id },
    });
    this.#making.set(
      name,
      making.catch(() => undefined),
    );
    const box = await making.finally(() => this.#making.delete(name));
    await snapshot?.putInto(box);
    this.#fresh.add(box.id);
    return this.#view(box);
  }

  /** Newest first. */
  #list(query: URLSearchParams): unknown {
    const wanted = query.getAll('label').map((label) => label.split(/=(.*)/s));
    const all = this.sandboxes
      .all()
      .filter(({ labels }) =>
        wanted.every(([key = '', value]) => key in labels && (value ?? labels[key]) === labels[key]),
      )
      .toReversed();
    const size = Math.min(Number(query.get('page_size') ?? DEFAULT_PAGE), this.sandboxes.pageSize);
    const start = Number(Buffer.from(query.get('cursor') ?? '', 'base64').toString() || 0);
    const items = all.slice(start, start + size).map((box) => this.#view(box));
    const end = start + items.length;
    const next = end < all.length ? Buffer.from(String(end)).toString('base64') : null;
    return { items, sandboxes: items, next_cursor: next, offset: next === null ? 0 : end };
  }

  /** With its memory, if it was made so. */
  async #rest(box: BackingSandbox): Promise<void> {
    if (box.facts['preserve_memory_on_stop'] === true) return this.sandboxes.pause(box.id);
    this.dataplane.forget(box.id);
    await this.sandboxes.stop(box.id);
  }

  /** Whoever speaks to a stopped sandbox wakes it. */
  async #awake(id: string): Promise<BackingSandbox> {
    await this.#stopping.get(id);
    const box = this.sandboxes.get(id);
    if (box === undefined || box.state === 'deleting') throw new Refusal(404, 'Sandbox not found');
    if (box.state === 'paused') await this.sandboxes.resume(id);
    if (box.state === 'stopped') await this.sandboxes.start(id);
    return this.sandboxes.get(id) ?? box;
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const met = this.faults.take({ method: 'GET', path: request.url ?? '/' });
    try {
      if (met?.fault.kind === 'unreachable') return void socket.destroy();
      if (met?.fault.kind === 'answer') return refuse(socket, met.fault.answer);
      if (met?.fault.kind === 'held') await met.released;
      this.#assertAllowed(request.headers);
      const id = /^\/dataplane\/([^/]+)\/execute\/ws$/.exec(request.url ?? '')?.[1] ?? '';
      this.dataplane.upgrade(request, socket, head, await this.#awake(id), met?.fault);
    } catch (error) {
      refuse(socket, { status: error instanceof Refusal ? error.status : 500 });
    }
  }

  async #find(name: string): Promise<BackingSandbox> {
    await this.#making.get(name);
    const box = this.sandboxes.all().find((each) => each.name === name);
    if (box === undefined) throw new Refusal(404, `Sandbox '${name}' not found`);
    return box;
  }

  #status({ id, state }: BackingSandbox): string {
    if (this.#stopping.has(id)) return 'stopped';
    if (state === 'running') return this.#fresh.has(id) ? 'provisioning' : 'ready';
    return state === 'deleting' ? 'deleting' : 'stopped';
  }

  #view(box: BackingSandbox): unknown {
    const { id, name, labels, createdAt, facts } = box;
    const dataplane = `${this.url}/dataplane/${id}`;
    const created = new Date(createdAt).toISOString();
    return { ...facts, id, name, labels, created_at: created, dataplane_url: dataplane, status: this.#status(box) };
  }
}

/** As LangSmith words what it refuses. */
export function refusalBody(message: string): unknown {
  return { detail: { error: 'Refused', message } };
}

function refuse(socket: Duplex, { status, headers = {} }: Answer): void {
  const lines = Object.entries({ ...headers, 'content-length': 0, connection: 'close' });
  socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
}
