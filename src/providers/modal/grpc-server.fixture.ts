/** gRPC over plain HTTP/2, as far as unary calls and streams of answers go, with faults in front of it. */
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Answer, FaultSwitchboard } from '../../testing/loopback/fault-switchboard.ts';
import { type MethodDefinition, modalProtocol } from './modal-protocol.fixture.ts';

/** The statuses that are used, by the names that gRPC has for them. */
export const GRPC = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export class GrpcRefusal extends Error {
  readonly status: number;
  readonly retryAfterSecs: number | undefined;
  constructor(status: number, message: string, retryAfterSecs?: number) {
    super(message);
    this.status = status;
    this.retryAfterSecs = retryAfterSecs;
  }
}

export interface GrpcCall {
  readonly headers: IncomingHttpHeaders;
  /** Aborts when the client has gone or given up. */
  readonly signal: AbortSignal;
}

/** Answers with a message, or with several. */
export type GrpcHandler = (request: never, call: GrpcCall) => Promise<unknown> | AsyncIterable<unknown>;

export interface GrpcService {
  readonly definition: { readonly fullName: string; readonly methods: Readonly<Record<string, MethodDefinition>> };
  readonly handlers: Readonly<Record<string, GrpcHandler>>;
  /** Throws a refusal. */
  authorize(method: string, headers: IncomingHttpHeaders): void;
}

const FRAME_HEAD_BYTES = 5;

export class GrpcServer {
  port = 0;
  readonly #faults: FaultSwitchboard;
  readonly #services: readonly GrpcService[];
  readonly #server: Http2Server;
  readonly #sessions = new Set<{ destroy(): void }>();

  constructor(faults: FaultSwitchboard, services: readonly GrpcService[]) {
    this.#faults = faults;
    this.#services = services;
    this.#server = createServer();
    this.#server.on('session', (session) => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
      session.on('error', () => undefined);
    });
    this.#server.on('stream', (stream, headers) => void this.#serve(stream, headers));
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on('error', () => undefined);
    const gone = new AbortController();
    stream.on('close', () => gone.abort());
    const path = String(headers[':path']);
    const met = this.#faults.take({ method: 'POST', path });
    const fault = met?.fault;
    if (fault?.kind === 'unreachable') return stream.session?.destroy();
    const wire: Wire = {
      stream,
      isMute: fault?.kind === 'lost-answer',
      bytesLeft: fault?.kind === 'dropped' ? fault.afterBytes : Number.POSITIVE_INFINITY,
      trailers: { 'grpc-status': '0' },
    };
    if (fault?.kind === 'held') await met?.released;
    try {
      if (fault?.kind === 'answer') throw toRefusal(fault.answer);
      await this.#answer(wire, path, { headers, signal: gone.signal });
    } catch (error) {
      wire.trailers = refusedWith(error instanceof GrpcRefusal ? error : new GrpcRefusal(GRPC.INTERNAL, String(error)));
    }
    if (wire.isMute) stream.session?.destroy();
    else if (!stream.destroyed) begin(wire).end();
  }

  async #answer(wire: Wire, path: string, call: GrpcCall): Promise<void> {
    const [, service, name] = path.split('/');
    const found = this.#services.find(({ definition }) => definition.fullName === service);
    const method = Object.values(found?.definition.methods ?? {}).find((each) => each.name === name);
    const handler = found?.handlers[name ?? ''];
    if (found === undefined || method === undefined || handler === undefined)
      throw new GrpcRefusal(GRPC.UNIMPLEMENTED, `Method not found: ${path}`);
    const request = method.requestType.decode(await readFrame(wire.stream)) as never;
    found.authorize(method.name, call.headers);
    const send = (message: unknown): Promise<void> => write(wire, frameOf(method, message));
    const answer = handler(request, call);
    if (Symbol.asyncIterator in answer) for await (const message of answer) await send(message);
    else await send(await answer);
  }
}

interface Wire {
  readonly stream: ServerHttp2Stream;
  /** What is done is not told. */
  readonly isMute: boolean;
  /** Then the connection breaks. */
  bytesLeft: number;
  /** What is said when all has been sent. */
  trailers: Record<string, string>;
}

async function write(wire: Wire, frame: Buffer): Promise<void> {
  const { stream } = wire;
  if (wire.isMute || stream.destroyed) return;
  const isEnough = wire.bytesLeft <= frame.length;
  const taken = begin(wire).write(frame.subarray(0, Math.min(frame.length, wire.bytesLeft)));
  wire.bytesLeft -= frame.length;
  // After what was written has left.
  if (isEnough) setImmediate(() => stream.session?.destroy());
  if (isEnough || taken) return;
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      stream.off('drain', settle).off('close', settle);
      resolve();
    };
    stream.on('drain', settle).on('close', settle);
  });
}

/** The trailers follow when the stream is ended. */
function begin(wire: Wire): ServerHttp2Stream {
  const { stream } = wire;
  if (stream.headersSent) return stream;
  stream.once('wantTrailers', () => stream.sendTrailers(wire.trailers));
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  return stream;
}

function refusedWith(refusal: GrpcRefusal): Record<string, string> {
  return {
    'grpc-status': String(refusal.status),
    'grpc-message': encodeURI(refusal.message),
    ...(refusal.retryAfterSecs === undefined ? {} : { 'grpc-status-details-bin': retryDetails(refusal) }),
  };
}

/** An armed answer has a status of gRPC, and `retry-after` as over HTTP. */
function toRefusal({ status, body, headers }: Answer): GrpcRefusal {
  const retryAfter = headers?.['retry-after'];
  const message = typeof body === 'string' ? body : JSON.stringify(body ?? '');
  return new GrpcRefusal(status, message, retryAfter === undefined ? undefined : Number(retryAfter));
}

function retryDetails({ status, message, retryAfterSecs }: GrpcRefusal): string {
  const { RPCStatus, RPCRetryPolicy } = modalProtocol();
  const value = RPCRetryPolicy.encode({ retryAfterSecs }).finish();
  const details = [{ typeUrl: 'type.googleapis.com/modal.client.RPCRetryPolicy', value }];
  return Buffer.from(RPCStatus.encode({ code: status, message, details }).finish()).toString('base64');
}

async function readFrame(stream: ServerHttp2Stream): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk as Uint8Array);
  return new Uint8Array(Buffer.concat(chunks).subarray(FRAME_HEAD_BYTES));
}

function frameOf({ responseType }: MethodDefinition, message: unknown): Buffer {
  const body = responseType.encode(responseType.fromPartial(message)).finish();
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}
