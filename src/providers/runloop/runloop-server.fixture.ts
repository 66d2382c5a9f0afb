/** Runloop on loopback, with real sandboxes behind it. It refuses what the service refuses. */
import { randomBytes } from 'node:crypto';
import type { CommandResult } from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { type BackingSandbox, BackingSandboxes } from '../../testing/loopback/backing-sandboxes.ts';
import { DiskArchive } from '../../testing/loopback/disk-archive.ts';
import type { FaultSwitchboard } from '../../testing/loopback/fault-switchboard.ts';
import { type LoopbackRequest, LoopbackServer, Refusal } from '../../testing/loopback/loopback-server.ts';

interface CreateBody {
  readonly name?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly blueprint_name?: string;
  readonly snapshot_id?: string;
  readonly launch_parameters?: { readonly network_policy_id?: string; readonly [field: string]: unknown };
}

interface Execution {
  readonly devbox: string;
  readonly running: Promise<CommandResult>;
  result?: CommandResult | undefined;
  stdout: string;
}

/** So long a command is waited for before the answer says that it runs, and so long each wait after that. */
const OPTIMISTIC_MS = 200;
const HOLD_MS = 2_000;
const DEFAULT_LINES = 100;
/** The only policy that this account has: nothing is allowed. */
export const NO_NETWORK = 'npol_nothing';

export class RunloopServer {
  readonly sandboxes: BackingSandboxes;
  /** How many programs run now. */
  executing = 0;
  readonly #apiKey: string;
  readonly #server: LoopbackServer;
  /** Devboxes that were shut down stay in the list. */
  readonly #over: Record<string, unknown>[] = [];
  /** A snapshot is complete when it has been asked for once. */
  readonly #snapshots = new Map<string, { readonly disk: DiskArchive; isComplete: boolean }>();
  readonly #executions = new Map<string, Execution>();

  constructor(provider: SandboxProvider, apiKey: string) {
    this.#apiKey = apiKey;
    this.sandboxes = new BackingSandboxes(provider);
    // By name: a number cannot have the names of tunnels before it.
    this.#server = new LoopbackServer({ answer: (request) => this.#serve(request), hostname: 'localhost' });
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
    await this.#server.close();
    await this.sandboxes.close();
  }

  async #serve({ method, url, headers, body }: LoopbackRequest): Promise<unknown> {
    if (headers.authorization !== `Bearer ${this.#apiKey}`) throw new Refusal(401, 'Invalid API key.');
    return this.#route(`${method} ${url.pathname}`, url.searchParams, body);
  }

  async #route(route: string, query: URLSearchParams, body: unknown): Promise<unknown> {
    if (route === 'POST /v1/devboxes') return this.#create(body as CreateBody);
    if (route === 'GET /v1/devboxes') return this.#list(query);
    const [, method, id = '', action = ''] = /^(\w+) \/v1\/devboxes\/([^/]+)\/?(.*)$/.exec(route) ?? [];
    if (method === 'GET' && action === '')
      return this.#over.find((each) => each['id'] === id) ?? this.#view(this.#find(id));
    const snapshot = /^disk_snapshots\/([^/]+)\/status$/.exec(`${id}/${action}`)?.[1];
    if (snapshot !== undefined) return this.#snapshotStatus(snapshot);
    const execution = /^executions\/([^/]+)\/wait_for_status$/.exec(action)?.[1];
    if (execution !== undefined) return this.#wait(execution);
    if (action === 'shutdown' && this.#over.some((each) => each['id'] === id)) return {};
    const devbox = this.#find(id);
    switch (action) {
      case 'shutdown':
        return this.#shutdown(devbox);
      case 'suspend':
        this.#running(devbox);
        await this.sandboxes.stop(id);
        return this.#view(this.#find(id));
      case 'resume':
        if (devbox.state !== 'stopped') throw new Refusal(400, 'Devbox is not suspended');
        await this.sandboxes.start(id);
        return this.#view(this.#find(id));
      case 'keep_alive':
        this.#running(devbox);
        return {};
      case 'enable_tunnel':
        return { tunnel_key: `key${id.slice(4, 10)}`, auth_mode: 'open', http_keep_alive: true, wake_on_http: false };
      case 'snapshot_disk_async':
        return this.#takeSnapshot(this.#running(devbox));
      case 'upload_file':
        return this.#upload(this.#running(devbox), body as FormData);
      case 'execute':
        return this.#execute(this.#running(devbox), body as { readonly command: string }, query);
      default:
        throw new Refusal(404, `No such endpoint: ${route}`);
    }
  }

  async #create(body: CreateBody): Promise<unknown> {
    if (body.blueprint_name === 'missing') throw new Refusal(400, 'Blueprint missing not found');
    const policy = body.launch_parameters?.network_policy_id;
    if (policy !== undefined && policy !== NO_NETWORK) throw new Refusal(400, `Network policy ${policy} not found`);
    const snapshot = this.#snapshots.get(body.snapshot_id ?? '');
    if (body.snapshot_id !== undefined && snapshot?.isComplete !== true)
      throw new Refusal(400, `Snapshot ${body.snapshot_id} not found`);
    const devbox = await this.sandboxes.create({
      id: `dbx_${randomBytes(8).toString('hex')}`,
      name: body.name,
      labels: body.metadata,
      network: policy === undefined ? 'open' : 'none',
      facts: { launch_parameters: body.launch_parameters ?? {} },
    });
    await snapshot?.disk.putInto(devbox.handle);
    // It is ready sooner than it says.
    return { ...this.#view(devbox), status: 'provisioning' };
  }

  /** Newest first, those that are over among them. */
  #list(query: URLSearchParams): unknown {
    const all = [...this.#over, ...this.sandboxes.all().map((devbox) => this.#view(devbox))].toReversed();
    const start = all.findIndex((each) => each['id'] === query.get('starting_after')) + 1;
    const limit = Math.min(Number(query.get('limit') ?? 20), this.sandboxes.pageSize);
    const devboxes = all.slice(start, start + limit);
    return { devboxes, has_more: start + devboxes.length < all.length, total_count: all.length };
  }

  async #takeSnapshot({ id: source, handle }: BackingSandbox): Promise<unknown> {
    const id = `snp_${randomBytes(8).toString('hex')}`;
    this.#snapshots.set(id, { disk: await DiskArchive.take(handle), isComplete: false });
    return { id, source_devbox_id: source, create_time_ms: Date.now(), metadata: {} };
  }

  #snapshotStatus(id: string): unknown {
    const snapshot = this.#snapshots.get(id);
    if (snapshot === undefined) throw new Refusal(404, `Snapshot ${id} not found`);
    const status = snapshot.isComplete ? 'complete' : 'in_progress';
    snapshot.isComplete = true;
    return { status };
  }

  async #shutdown(devbox: BackingSandbox): Promise<unknown> {
    const view = { ...this.#view(devbox), status: 'shutdown', shutdown_reason: 'api_shutdown' };
    await this.sandboxes.remove(devbox.id);
    if (this.sandboxes.get(devbox.id) === undefined) this.#over.push(view);
    return view;
  }

  async #execute(
    devbox: BackingSandbox,
    { command }: { readonly command: string },
    query: URLSearchParams,
  ): Promise<unknown> {
    const id = `exec_${randomBytes(8).toString('hex')}`;
    const lines = Number(query.get('last_n') ?? DEFAULT_LINES);
    const chunks: Uint8Array[] = [];
    const running = devbox.handle.commands.run(['sh', '-c', command], {
      maxOutputBytes: 0,
      onStdout: (chunk) => void chunks.push(Uint8Array.from(chunk)),
    });
    const execution: Execution = { devbox: devbox.id, running, stdout: '' };
    this.#executions.set(id, execution);
    this.executing++;
    void running.catch(() => undefined).then(() => this.executing--);
    running.then(
      (result) => {
        execution.result = result;
        execution.stdout = Buffer.concat(chunks)
          .toString()
          .split('\n')
          .slice(-lines - 1)
          .join('\n');
      },
      () => undefined,
    );
    return this.#answer(id, OPTIMISTIC_MS);
  }

  async #upload({ handle }: BackingSandbox, form: FormData): Promise<unknown> {
    const [path, file] = [form.get('path'), form.get('file')];
    if (typeof path !== 'string' || !(file instanceof Blob)) throw new Refusal(400, 'path and file are required');
    const home = (await handle.commands.run('printf %s "$HOME"')).stdout;
    await handle.files.write(`${home}/${path}`, new Uint8Array(await file.arrayBuffer()));
    return {};
  }

  async #wait(id: string): Promise<unknown> {
    const answer = await this.#answer(id, HOLD_MS);
    if (answer.status !== 'completed') throw new Refusal(408, 'Timed out waiting for the status');
    this.#executions.delete(id);
    return answer;
  }

  async #answer(id: string, ms: number): Promise<{ readonly status: string }> {
    const execution = this.#executions.get(id);
    if (execution === undefined) throw new Refusal(404, `Execution ${id} not found`);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
    await Promise.race([execution.running, late])
      .catch((error: unknown) => {
        if (SubletError.is(error, 'SANDBOX_LOST')) throw new Refusal(404, `Devbox ${execution.devbox} not found`);
        throw error;
      })
      .finally(() => clearTimeout(timer));
    const { result, stdout, devbox } = execution;
    const known = { devbox_id: devbox, execution_id: id };
    if (result === undefined) return { ...known, status: 'running' };
    return { ...known, status: 'completed', ...{ exit_status: result.exitCode ?? 137, stdout, stderr: '' } };
  }

  #find(id: string): BackingSandbox {
    const devbox = this.sandboxes.get(id);
    if (devbox === undefined) throw new Refusal(404, `Devbox ${id} not found`);
    return devbox;
  }

  #running(devbox: BackingSandbox): BackingSandbox {
    if (devbox.state !== 'running') throw new Refusal(400, `Devbox ${devbox.id} is not running`);
    return devbox;
  }

  #view({ id, name, labels, createdAt, state, facts }: BackingSandbox): Record<string, unknown> {
    const status = { running: 'running', paused: 'suspended', stopped: 'suspended', deleting: 'suspending' }[state];
    return {
      id,
      name,
      metadata: labels,
      create_time_ms: createdAt,
      end_time_ms: null,
      capabilities: [],
      state_transitions: [],
      status,
      ...facts,
    };
  }
}
