/** The control plane: sandboxes by REST. Both generations of its paths are served. */
import { E2bRefusal } from './e2b-refusal.ts';
import { type Exchange, readJson, sendJson, sendNothing } from './http-exchange.ts';
import { boolean, integer, object, optional, stringRecord, strings, text } from './message-fields.ts';
import { listSandboxes, toCreated, toDetail } from './sandbox-bodies.ts';
import type { ServedSandbox } from './served-sandbox.ts';
import type { ServedSandboxes } from './served-sandboxes.ts';

export interface ControlPlaneOptions {
  readonly sandboxes: ServedSandboxes;
  readonly domain: string | undefined;
  readonly maxTimeoutSeconds: number;
  /** What each sandbox uses now. */
  metrics(sandbox: ServedSandbox): Promise<readonly Readonly<Record<string, unknown>>[]>;
  now(): number;
  /** How many sandboxes one page has at most. */
  readonly pageSize: () => number;
}

const DEFAULT_TIMEOUT_SECONDS = 300;
const ALL_TRAFFIC = '0.0.0.0/0';

type Body = Readonly<Record<string, unknown>>;

export class ControlPlane {
  readonly #options: ControlPlaneOptions;

  constructor(options: ControlPlaneOptions) {
    this.#options = options;
  }

  async serve(exchange: Exchange): Promise<void> {
    const { method, url } = exchange;
    const [first, ...rest] = url.pathname.split('/').filter((part) => part !== '');
    const path = first === 'v2' ? rest : [first, ...rest];
    if (path[0] !== 'sandboxes') throw notServed(exchange);
    const [, id, action] = path;
    if (id === undefined) {
      if (method === 'POST') return this.#create(exchange);
      if (method === 'GET') return this.#list(exchange);
      throw notServed(exchange);
    }
    const sandbox = this.#options.sandboxes.find(id);
    if (sandbox === undefined)
      throw new E2bRefusal(404, `sandbox "${id}" doesn't exist or you don't have access to it`);
    return this.#serveOne(exchange, sandbox, `${method} ${action ?? ''}`.trim());
  }

  async #serveOne(exchange: Exchange, sandbox: ServedSandbox, what: string): Promise<void> {
    const { response, request } = exchange;
    switch (what) {
      case 'GET':
        return sendJson(response, 200, toDetail(sandbox, this.#options.domain));
      case 'DELETE':
        await this.#options.sandboxes.kill(sandbox.facts.id);
        return sendNothing(response);
      case 'POST connect':
        return this.#connect(exchange, sandbox, false);
      case 'POST resume':
        return this.#connect(exchange, sandbox, true);
      case 'POST timeout':
        assertRuns(sandbox);
        sandbox.setEnd(this.#options.now() + this.#timeoutMs(await readJson(request), 'timeout'));
        return sendNothing(response);
      case 'POST refreshes': {
        assertRuns(sandbox);
        const until = this.#options.now() + this.#timeoutMs(await readJson(request), 'duration');
        sandbox.setEnd(Math.max(sandbox.endAt, until));
        return sendNothing(response);
      }
      case 'POST pause': {
        const keepsMemory = optional(await readJson(request), 'memory', boolean) ?? true;
        if (await sandbox.pause(keepsMemory)) return sendNothing(response);
        throw new E2bRefusal(409, `sandbox "${sandbox.facts.id}" is already paused`);
      }
      case 'PUT network':
        await tighten(sandbox, await readJson(request));
        return sendNothing(response);
      case 'GET metrics':
        return sendJson(response, 200, sandbox.state === 'running' ? await this.#options.metrics(sandbox) : []);
      default:
        throw notServed(exchange);
    }
  }

  async #create({ request, response }: Exchange): Promise<void> {
    const body = await readJson(request);
    refuseUnserved(body);
    const sandbox = await this.#options.sandboxes.create({
      templateId: text(body, 'templateID'),
      metadata: optional(body, 'metadata', stringRecord) ?? {},
      envVars: optional(body, 'envVars', stringRecord) ?? {},
      timeoutMs: this.#timeoutMs(body, 'timeout'),
      onTimeout: optional(body, 'autoPause', boolean) === true ? 'pause' : 'kill',
      keepsMemory: optional(body, 'autoPauseMemory', boolean) ?? true,
      allowInternetAccess: internetAccess(body) ?? null,
    });
    sendJson(response, 201, toCreated(sandbox, this.#options.domain));
  }

  #list({ url, response }: Exchange): void {
    const page = listSandboxes(this.#options.sandboxes.all(), url.searchParams, this.#options.pageSize());
    sendJson(response, 200, page.bodies, page.next === undefined ? {} : { 'x-next-token': page.next });
  }

  /** What runs has its time only ever made longer. `onlyPaused` is how older clients say it. */
  async #connect({ request, response }: Exchange, sandbox: ServedSandbox, onlyPaused: boolean): Promise<void> {
    const endAt = this.#options.now() + this.#timeoutMs(await readJson(request), 'timeout');
    const isResumed = await sandbox.resume(endAt);
    if (!isResumed && onlyPaused) throw new E2bRefusal(409, `sandbox "${sandbox.facts.id}" is already running`);
    if (!isResumed) sandbox.setEnd(Math.max(sandbox.endAt, endAt));
    sendJson(response, isResumed ? 201 : 200, toCreated(sandbox, this.#options.domain));
  }

  #timeoutMs(body: Body, field: string): number {
    const seconds = optional(body, field, integer) ?? DEFAULT_TIMEOUT_SECONDS;
    const { maxTimeoutSeconds } = this.#options;
    if (seconds <= maxTimeoutSeconds) return seconds * 1000;
    throw new E2bRefusal(400, `Timeout cannot be greater than ${maxTimeoutSeconds / 3600} hours`);
  }
}

/** What is asked for of the network and cannot be kept here is refused, never left out. */
function internetAccess(body: Body): boolean | undefined {
  const network = optional(body, 'network', object) ?? {};
  const allowed = optional(body, 'allow_internet_access', boolean);
  const allowOut = optional(network, 'allowOut', strings) ?? [];
  const denyOut = optional(network, 'denyOut', strings) ?? [];
  if (optional(network, 'egressProxy', object) !== undefined || optional(network, 'rules', object) !== undefined) {
    throw new E2bRefusal(400, 'Network rules and proxies are not served here.');
  }
  if (denyOut.length === 0 && allowOut.length === 0) return allowed;
  if (denyOut.includes(ALL_TRAFFIC) && allowOut.length === 0) return false;
  throw new E2bRefusal(400, 'A network is all or nothing here: allow_internet_access false, or nothing of the kind.');
}

async function tighten(sandbox: ServedSandbox, body: Body): Promise<void> {
  assertRuns(sandbox);
  const { allowOut, denyOut, ...rest } = body;
  const allowed = internetAccess({ ...rest, network: { allowOut, denyOut } });
  if (allowed === false) return sandbox.cutNetwork();
  if (sandbox.allowInternetAccess === false) {
    throw new E2bRefusal(400, 'The network of a sandbox only tightens: this one is cut off and stays so.');
  }
}

function refuseUnserved(body: Body): void {
  for (const field of ['mcp', 'iam', 'volumeMounts']) {
    const value = body[field];
    const isEmpty = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) throw new E2bRefusal(400, `"${field}" is not served here.`);
  }
  const autoResume = optional(body, 'autoResume', object);
  if (autoResume?.['enabled'] === true) throw new E2bRefusal(400, '"autoResume" is not served here.');
}

function assertRuns(sandbox: ServedSandbox): void {
  if (sandbox.state !== 'running') throw new E2bRefusal(404, `sandbox "${sandbox.facts.id}" is not running`);
}

function notServed({ method, url }: Exchange): E2bRefusal {
  return new E2bRefusal(404, `${method} ${url.pathname} is not served here`);
}
