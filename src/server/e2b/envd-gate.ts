/** The way into a sandbox: finds which one a request is for, whether it may enter, and what it wants there. */
import type { Clock } from '../../core/clock.ts';
import { E2bRefusal } from './e2b-refusal.ts';
import { serveFiles } from './file-transfer.ts';
import { type Exchange, header, sendJson, sendNothing } from './http-exchange.ts';
import type { ServedSandbox } from './served-sandbox.ts';
import type { ServedSandboxes } from './served-sandboxes.ts';
import { isSame, isSignedWith, type SignedRequest } from './signed-url.ts';

const ENVD_PORT = '49983';
const RPC = /^\/(process\.Process|filesystem\.Filesystem)\/(\w+)$/;

export class EnvdGate {
  readonly #sandboxes: ServedSandboxes;
  readonly #clock: Clock;

  constructor(sandboxes: ServedSandboxes, clock: Clock) {
    this.#sandboxes = sandboxes;
    this.#clock = clock;
  }

  /** By a header, by the name of the host, or by a path that only a sandbox has. */
  isFor(exchange: Exchange): boolean {
    const { pathname } = exchange.url;
    return address(exchange) !== undefined || RPC.test(pathname) || pathname === '/files';
  }

  async serve(exchange: Exchange): Promise<void> {
    const { response, url } = exchange;
    const signed = signedRequest(exchange);
    const asked = address(exchange);
    const sandbox = asked === undefined ? this.#bySignature(signed) : this.#sandboxes.find(asked.id);
    if (sandbox === undefined || sandbox.state !== 'running') {
      const message = sandbox === undefined ? 'The sandbox was not found' : 'The sandbox is paused';
      return sendJson(response, 502, { sandboxId: asked?.id ?? '', message, code: 502 });
    }
    if (asked !== undefined && asked.port !== ENVD_PORT) {
      throw new E2bRefusal(502, `The sandbox's port ${asked.port} is not served here.`);
    }
    if (url.pathname === '/health') return sendNothing(response);
    if (!this.#mayEnter(sandbox, exchange, signed)) {
      return sendJson(response, 401, { code: 'unauthenticated', message: 'The access token is missing or wrong.' });
    }
    return enter(sandbox, exchange);
  }

  #mayEnter({ facts }: ServedSandbox, { request }: Exchange, signed: SignedRequest | undefined): boolean {
    if (isSame(header(request, 'x-access-token') ?? '', facts.token)) return true;
    return signed !== undefined && isSignedWith(facts.token, signed, this.#clock.now());
  }

  /** All sandboxes share one address, and a signed URL names none: its signature fits one. */
  #bySignature(signed: SignedRequest | undefined): ServedSandbox | undefined {
    if (signed === undefined) return undefined;
    return this.#sandboxes.all().find(({ facts }) => isSignedWith(facts.token, signed, this.#clock.now()));
  }
}

function enter(sandbox: ServedSandbox, exchange: Exchange): Promise<void> {
  const { request, response, url } = exchange;
  if (url.pathname === '/files') return serveFiles(sandbox.session.files, exchange);
  const [, service, method] = RPC.exec(url.pathname) ?? [];
  if (service === undefined || method === undefined) throw new E2bRefusal(404, `${url.pathname} is not served here`);
  if (service === 'process.Process') return sandbox.processes.serve(method, request, response);
  return sandbox.filesystem.serve(method, request, response);
}

function address({ request }: Exchange): { readonly id: string; readonly port: string } | undefined {
  const id = header(request, 'e2b-sandbox-id');
  if (id !== undefined) return { id, port: header(request, 'e2b-sandbox-port') ?? ENVD_PORT };
  const [, port, named] = /^(\d+)-([a-z0-9]+)\./.exec(header(request, 'host') ?? '') ?? [];
  return port === undefined || named === undefined ? undefined : { id: named, port };
}

function signedRequest({ method, url }: Exchange): SignedRequest | undefined {
  const signature = url.searchParams.get('signature');
  if (url.pathname !== '/files' || signature === null) return undefined;
  const expiration = url.searchParams.get('signature_expiration');
  return {
    path: url.searchParams.get('path') ?? '',
    operation: method === 'GET' ? 'read' : 'write',
    user: url.searchParams.get('username') ?? '',
    signature,
    expiresAt: expiration === null ? undefined : Number(expiration),
  };
}
