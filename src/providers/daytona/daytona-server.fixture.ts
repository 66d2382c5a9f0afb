/** Daytona's control plane on loopback, with real sandboxes behind it. It refuses what the service refuses. */
import { randomUUID } from 'node:crypto';
import type { Labels } from '../../core/spec.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { type BackingSandbox, BackingSandboxes } from '../../testing/loopback/backing-sandboxes.ts';
import type { FaultSwitchboard } from '../../testing/loopback/fault-switchboard.ts';
import { type LoopbackRequest, LoopbackServer, Refusal } from '../../testing/loopback/loopback-server.ts';
import { DaytonaToolbox } from './daytona-toolbox.fixture.ts';

interface CreateBody {
  readonly name?: string;
  readonly snapshot?: string;
  readonly labels?: Labels;
  readonly networkBlockAll?: boolean;
  readonly autoStopInterval?: number;
  readonly autoArchiveInterval?: number;
  readonly autoDeleteInterval?: number;
  readonly volumes?: readonly { readonly volumeId: string; readonly mountPath: string }[];
  readonly [field: string]: unknown;
}

export interface DaytonaServerOptions {
  readonly apiKey: string;
  /** As servers of an earlier day: no shell, no variables, words split at quotes. */
  readonly isOld?: boolean | undefined;
  /** The class of its sandboxes can be paused. */
  readonly canPause?: boolean | undefined;
}

export class DaytonaServer {
  readonly sandboxes: BackingSandboxes;
  /** Answers leave out whether the network is blocked, as lists of sandboxes do. */
  hidesNetwork = false;
  /** What creates were asked for. */
  readonly created: CreateBody[] = [];
  readonly #options: DaytonaServerOptions;
  readonly #server: LoopbackServer;
  readonly #toolbox: DaytonaToolbox;
  readonly #names = new Set<string>();
  /** What is being made is found by its name, if only when it is there. */
  readonly #making = new Map<string, Promise<unknown>>();
  readonly #volumes = new Map<string, { readonly id: string; readonly name: string; looks: number }>();

  constructor(provider: SandboxProvider, options: DaytonaServerOptions) {
    this.#options = options;
    this.sandboxes = new BackingSandboxes(provider);
    this.#toolbox = new DaytonaToolbox(this.sandboxes, options.isOld === true);
    this.#server = new LoopbackServer({
      answer: (request) => this.#answer(request),
      refuse: ({ status, message }, { url }) => {
        return { statusCode: status, message, path: url.pathname, source: 'DAYTONA_API' };
      },
    });
    this.#server.http.on('upgrade', (request, socket, head) => this.#toolbox.upgrade(request, socket, head));
  }

  get url(): string {
    return this.#server.url;
  }

  get faults(): FaultSwitchboard {
    return this.#server.faults;
  }

  /** How many programs run now. */
  get executing(): number {
    return this.#toolbox.executing;
  }

  open(): Promise<void> {
    return this.#server.open();
  }

  async close(): Promise<void> {
    this.#toolbox.close();
    await this.#server.close();
    await this.sandboxes.close();
  }

  async #answer({ method, url: { pathname, searchParams }, headers, body }: LoopbackRequest): Promise<unknown> {
    if (headers.authorization !== `Bearer ${this.#options.apiKey}`) throw new Refusal(401, 'Unauthorized');
    if (!pathname.startsWith('/api/')) return this.#toolbox.serve(method, pathname, body);
    return this.#control(`${method} ${pathname.slice(4)}`, searchParams, body);
  }

  async #control(route: string, query: URLSearchParams, body: unknown): Promise<unknown> {
    if (route === 'POST /sandbox') return this.#create(body as CreateBody);
    if (route === 'GET /sandbox') return this.#list(query);
    if (route === 'POST /volumes') return this.#createVolume((body as { readonly name: string }).name);
    const volume = /^GET \/volumes\/by-name\/(.+)$/.exec(route)?.[1];
    if (volume !== undefined) return this.#volume(decodeURIComponent(volume));
    const [, method = '', idOrName = '', action = ''] = /^(\w+) \/sandbox\/([^/]+)\/?(.*)$/.exec(route) ?? [];
    await this.#making.get(decodeURIComponent(idOrName));
    const sandbox = this.#find(decodeURIComponent(idOrName));
    const { id } = sandbox;
    switch (`${method} ${action.replace(/\d+/, 'N')}`) {
      case 'GET ':
        return this.#dto(sandbox, true);
      case 'DELETE ':
        if (sandbox.state === 'deleting' && this.sandboxes.isDeletingStuck)
          throw new Refusal(409, 'Sandbox is already being destroyed');
        void this.sandboxes.remove(id).then(() => this.#names.delete(sandbox.name ?? ''));
        return { ...this.#dto(sandbox, true), state: 'destroying' };
      case 'POST start':
        if (sandbox.state === 'running') throw new Refusal(400, 'Sandbox is already started');
        if (sandbox.state === 'paused') await this.sandboxes.resume(id);
        else await this.sandboxes.start(id);
        return { ...this.#dto(this.#find(id), true), state: 'starting' };
      case 'POST stop':
        if (sandbox.state !== 'running') throw new Refusal(400, 'Sandbox is not started');
        await this.sandboxes.stop(id);
        return {};
      case 'POST pause':
        if (this.#options.canPause !== true) throw new Refusal(400, 'Sandbox class does not support pause');
        if (sandbox.state !== 'running') throw new Refusal(400, 'Sandbox is not started');
        await this.sandboxes.pause(id);
        return {};
      case 'POST network-settings':
        if ((body as { readonly networkBlockAll?: boolean }).networkBlockAll === true)
          await this.sandboxes.setNetwork(id, 'none');
        return this.#dto(this.#find(id), true);
      case 'POST autostop/N':
        this.sandboxes.update(id, { facts: { autoStopInterval: Number(/\d+/.exec(action)?.[0]) } });
        return this.#dto(this.#find(id), true);
      case 'POST last-activity':
        this.sandboxes.update(id, { facts: { lastActivityAt: new Date().toISOString() } });
        return {};
      case 'GET ports/N/preview-url':
        return { sandboxId: id, url: `http://${/\d+/.exec(action)?.[0]}-${id}.localhost`, token: 'preview-token' };
      case 'GET toolbox-proxy-url':
        return { url: `${this.url}/toolbox` };
      default:
        throw new Refusal(404, `Cannot ${route}`);
    }
  }

  async #create(body: CreateBody): Promise<unknown> {
    const name = body.name ?? randomUUID();
    if (this.#names.has(name)) throw new Refusal(409, `Sandbox with name ${name} already exists`);
    if (body.snapshot === 'missing') throw new Refusal(400, 'Snapshot missing not found. Did you add it?');
    for (const field of ['autoStopInterval', 'autoArchiveInterval'] as const) {
      const value = body[field];
      if (value !== undefined && (!Number.isInteger(value) || value < 0))
        throw new Refusal(400, `${field} must be a non-negative integer`);
    }
    const [volume] = body.volumes ?? [];
    const known = [...this.#volumes.values()].find(({ id }) => id === volume?.volumeId);
    if (volume !== undefined && known === undefined) throw new Refusal(404, `Volume ${volume.volumeId} not found`);
    this.created.push(body);
    this.#names.add(name);
    try {
      const making = this.sandboxes.create({
        name,
        labels: body.labels,
        network: body.networkBlockAll === true ? 'none' : 'open',
        contextId: known?.name,
        facts: {
          autoStopInterval: body.autoStopInterval ?? 15,
          autoDeleteInterval: body.autoDeleteInterval ?? -1,
          lastActivityAt: new Date().toISOString(),
        },
      });
      this.#making.set(
        name,
        making.catch(() => undefined),
      );
      const sandbox = await making;
      if (volume !== undefined && volume.mountPath !== sandbox.handle.workdir)
        throw new Refusal(400, `This server mounts volumes at ${sandbox.handle.workdir} only`);
      // It is ready sooner than it says.
      return { ...this.#dto(sandbox, true), state: 'creating' };
    } catch (error) {
      this.#names.delete(name);
      throw error;
    } finally {
      this.#making.delete(name);
    }
  }

  #list(query: URLSearchParams): unknown {
    const labels = JSON.parse(query.get('labels') ?? '{}') as Labels;
    const after = query.get('cursor') ?? undefined;
    const { sandboxes, next } = this.sandboxes.list({ labels, after });
    return { items: sandboxes.map((sandbox) => this.#dto(sandbox, false)), nextCursor: next ?? null };
  }

  #createVolume(name: string): unknown {
    if (this.#volumes.has(name)) throw new Refusal(409, `Volume with name ${name} already exists`);
    const volume = { id: randomUUID(), name, looks: 0 };
    this.#volumes.set(name, volume);
    return { ...volume, state: 'pending_create' };
  }

  #volume(name: string): unknown {
    const volume = this.#volumes.get(name);
    if (volume === undefined) throw new Refusal(404, `Volume with name ${name} not found`);
    volume.looks++;
    return { ...volume, state: volume.looks > 1 ? 'ready' : 'creating' };
  }

  #find(idOrName: string): BackingSandbox {
    const found = this.sandboxes.all().find(({ id, name }) => id === idOrName || name === idOrName);
    if (found === undefined) throw new Refusal(404, `Sandbox with ID or name ${idOrName} not found`);
    return found;
  }

  #dto(sandbox: BackingSandbox, isWhole: boolean): Record<string, unknown> {
    const { id, name, labels, createdAt, state, network, facts } = sandbox;
    const states = { running: 'started', paused: 'paused', stopped: 'stopped', deleting: 'destroying' } as const;
    const whole = this.hidesNetwork ? { env: {} } : { env: {}, networkBlockAll: network === 'none' };
    return {
      id,
      name,
      organizationId: 'org',
      user: 'daytona',
      labels,
      public: false,
      target: 'eu',
      cpu: 1,
      gpu: 0,
      memory: 1,
      disk: 3,
      state: states[state],
      sandboxClass: this.#options.canPause === true ? 'linux-vm' : 'container',
      createdAt: new Date(createdAt).toISOString(),
      toolboxProxyUrl: `${this.url}/toolbox`,
      ...facts,
      ...(isWhole ? whole : {}),
    };
  }
}
