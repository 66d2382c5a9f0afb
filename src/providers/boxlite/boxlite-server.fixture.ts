/** A BoxLite server on loopback, with real sandboxes behind it. It refuses what the service refuses. */
import { randomBytes } from 'node:crypto';
import type { SandboxProvider } from '../../provider/provider.ts';
import { type BackingSandbox, BackingSandboxes } from '../../testing/loopback/backing-sandboxes.ts';
import type { FaultSwitchboard } from '../../testing/loopback/fault-switchboard.ts';
import { type LoopbackRequest, LoopbackServer, Refusal } from '../../testing/loopback/loopback-server.ts';
import { Executions, type ExecRequest } from './boxlite-executions.fixture.ts';

interface CreateBody {
  readonly name?: string;
  readonly image?: string;
  readonly cpus?: number;
  readonly memory_mib?: number;
  readonly disk_size_gb?: number;
  readonly network?: { readonly outbound?: { readonly mode?: string } };
  readonly auto_stop?: number;
  readonly auto_delete?: number;
  readonly auto_resume?: boolean;
  readonly [field: string]: unknown;
}

/** What a create may name; anything else is refused. */
const FIELDS: readonly string[] =
  'advanced name image rootfs_path cpus memory_mib disk_size_gb working_dir env entrypoint cmd user volumes network secrets detach tty auto_stop auto_delete auto_resume'.split(
    ' ',
  );
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$/;
const CODES: Readonly<Record<number, readonly [type: string, code: string]>> = {
  400: ['InvalidArgumentError', 'invalid_argument'],
  401: ['AuthError', 'unauthenticated'],
  404: ['NotFoundError', 'not_found'],
  409: ['InvalidStateError', 'invalid_state'],
  410: ['SessionReapedError', 'session_reaped'],
  422: ['ImageError', 'image_pull_failed'],
  429: ['ResourceExhaustedError', 'resource_exhausted'],
};

/** The envelope of every refusal. */
export function refusalBody({ status, message }: Pick<Refusal, 'status' | 'message'>): unknown {
  const [type, code] = CODES[status] ?? ['InternalError', 'internal'];
  return { error: { message, type, code, request_id: 'req_1' } };
}

export class BoxliteServer {
  readonly sandboxes: BackingSandboxes;
  readonly executions: Executions;
  /** The bodies of creates. */
  readonly created: CreateBody[] = [];
  readonly #apiKey: string;
  readonly #server: LoopbackServer;
  /** Boxes that were made and never started. */
  readonly #configured = new Set<string>();
  /** Names are taken from the moment they are asked for, and then are there for all. */
  readonly #names = new Map<string, Promise<unknown>>();

  constructor(provider: SandboxProvider, apiKey: string) {
    this.#apiKey = apiKey;
    this.sandboxes = new BackingSandboxes(provider);
    this.#server = new LoopbackServer({ answer: (request) => this.#serve(request), refuse: refusalBody });
    this.executions = new Executions(this.#server, `Bearer ${apiKey}`);
  }

  get url(): string {
    return this.#server.url;
  }

  get faults(): FaultSwitchboard {
    return this.#server.faults;
  }

  open(): Promise<void> {
    return this.#server.open();
  }

  async close(): Promise<void> {
    this.executions.close();
    await this.#server.close();
    await this.sandboxes.close();
  }

  async #serve({ method, url, headers, body }: LoopbackRequest): Promise<unknown> {
    if (headers.authorization !== `Bearer ${this.#apiKey}`) throw new Refusal(401, 'invalid or missing API key');
    const route = `${method} ${url.pathname}`;
    if (route === 'POST /v1/boxes') return this.#create(body as CreateBody);
    await Promise.allSettled(this.#names.values());
    if (route === 'GET /v1/boxes') return this.#list(url.searchParams);
    const [, id = '', action = ''] = /^\/v1\/boxes\/([^/]+)\/?(.*)$/.exec(url.pathname) ?? [];
    const box = this.#find(decodeURIComponent(id));
    return this.#act(`${method} ${action}`, box, url.searchParams, body);
  }

  async #act(route: string, box: BackingSandbox, query: URLSearchParams, body: unknown): Promise<unknown> {
    const execution = /^GET executions\/([^/]+)$/.exec(route)?.[1];
    if (execution !== undefined) return this.executions.info(execution);
    switch (route) {
      case 'GET ':
        return this.#dto(box);
      case 'DELETE ':
        return this.#remove(box, query.get('force') === 'true');
      case 'POST start':
        if (box.state === 'stopped') await this.sandboxes.start(box.id);
        this.#configured.delete(box.id);
        return this.#dto(this.#find(box.id));
      case 'POST stop':
        if (this.#statusOf(box) !== 'running') throw new Refusal(409, 'invalid state: box is not running');
        await this.sandboxes.stop(box.id);
        return this.#dto(this.#find(box.id));
      case 'POST exec':
        if (this.#statusOf(box) !== 'running') throw new Refusal(409, `stopped: box ${box.id} is not running`);
        return this.executions.start(box, body as ExecRequest);
      case 'GET metrics':
        return { commands_executed_total: 0, memory_bytes: (await this.sandboxes.metrics(box.id)).memoryBytes ?? null };
      case 'POST network/tunnel':
        return { uri: `https://${query.get('port')}-${box.id.toLowerCase()}.proxy.example.test` };
      default:
        throw new Refusal(404, `not found: ${route}`);
    }
  }

  async #create(body: CreateBody): Promise<unknown> {
    const { name = `box-${randomBytes(4).toString('hex')}`, cpus = 1, memory_mib: memory = 512 } = body;
    const unknown = Object.keys(body).find((field) => !FIELDS.includes(field));
    if (unknown !== undefined) throw new Refusal(400, `invalid argument: unknown field ${unknown}`);
    if (!NAME.test(name)) throw new Refusal(400, 'invalid argument: name has characters that are not allowed');
    if (cpus < 1 || cpus > 32) throw new Refusal(400, 'invalid argument: cpus must be between 1 and 32');
    if (memory < 128) throw new Refusal(400, 'invalid argument: memory_mib must be at least 128');
    if (body.image === 'missing') throw new Refusal(422, 'images error: manifest unknown for missing');
    if (this.#names.has(name)) throw new Refusal(409, `already exists: box with name '${name}' already exists`);
    this.created.push(body);
    const making = this.#make({ ...body, name, cpus, memory_mib: memory });
    this.#names.set(name, making);
    return making.catch((error: unknown) => {
      this.#names.delete(name);
      throw error;
    });
  }

  async #make(body: CreateBody): Promise<unknown> {
    const box = await this.sandboxes.create({
      id: `01HJ${randomBytes(8).toString('hex').toUpperCase()}`,
      name: body.name,
      network: body.network?.outbound?.mode === 'disabled' ? 'none' : 'open',
      facts: {
        image: body.image ?? 'alpine:latest',
        cpus: body.cpus,
        memory_mib: body.memory_mib,
        auto_stop: body.auto_stop ?? 900,
        auto_delete: body.auto_delete ?? 0,
        auto_resume: body.auto_resume ?? true,
      },
    });
    this.#configured.add(box.id);
    return this.#dto(box);
  }

  #list(query: URLSearchParams): unknown {
    const limit = Number(query.get('pageSize') ?? 100);
    if (limit < 1 || limit > 1000) throw new Refusal(400, 'invalid argument: pageSize must be between 1 and 1000');
    const { sandboxes, next } = this.sandboxes.list({ limit, after: query.get('pageToken') ?? undefined });
    return { boxes: sandboxes.map((box) => this.#dto(box)), next_page_token: next ?? null };
  }

  async #remove(box: BackingSandbox, isForced: boolean): Promise<unknown> {
    if (!isForced && this.#statusOf(box) === 'running') throw new Refusal(409, 'invalid state: box is running');
    await this.sandboxes.remove(box.id);
    this.#names.delete(box.name ?? '');
    return {};
  }

  #find(idOrName: string): BackingSandbox {
    const box = this.sandboxes.all().find(({ id, name }) => id === idOrName || name === idOrName);
    if (box === undefined) throw new Refusal(404, `box not found: ${idOrName}`);
    return box;
  }

  #statusOf({ id, state }: BackingSandbox): string {
    if (state === 'running') return this.#configured.has(id) ? 'configured' : 'running';
    return state === 'deleting' ? 'stopping' : 'stopped';
  }

  #dto(box: BackingSandbox): Record<string, unknown> {
    const at = new Date(box.createdAt).toISOString();
    const status = this.#statusOf(box);
    return {
      box_id: box.id,
      name: box.name,
      status,
      created_at: at,
      updated_at: at,
      pid: null,
      labels: {},
      ...box.facts,
    };
  }
}
