/** The Connect protocol with JSON messages: unary calls, and streams of length-prefixed frames. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { E2bRefusal, toRefusal } from './e2b-refusal.ts';
import { header, parseObject, readBody, sendJson, write } from './http-exchange.ts';

export type Message = Readonly<Record<string, unknown>>;

const END_STREAM = 0x02;
const PREFIX_BYTES = 5;
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** Answers a unary call with what `work` makes of its message. */
export async function serveUnary(
  request: IncomingMessage,
  response: ServerResponse,
  work: (message: Message) => Promise<Message>,
): Promise<void> {
  try {
    sendJson(response, 200, await work(parseObject(await readBody(request, MAX_FRAME_BYTES))));
  } catch (cause) {
    const refusal = toRefusal(cause);
    sendJson(response, refusal.status, errorBody(refusal));
  }
}

/** Sends messages at the pace the peer takes them. */
export class ConnectStream {
  readonly #response: ServerResponse;
  readonly #closed: Promise<void>;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#closed = new Promise((resolve) => response.once('close', resolve));
    response.writeHead(200, { 'content-type': 'application/connect+json' });
    response.flushHeaders();
  }

  /** Resolves when the peer has gone or the stream has ended. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  get isClosed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  send(message: Message): Promise<void> | undefined {
    return this.isClosed ? undefined : write(this.#response, frame(0, message));
  }

  end(cause?: unknown): void {
    if (this.isClosed) return;
    this.#response.end(frame(END_STREAM, cause === undefined ? {} : { error: errorBody(toRefusal(cause)) }));
  }
}

/** Answers a call that streams. What fails before or in the stream is told in its last frame. */
export async function serveStream(
  request: IncomingMessage,
  response: ServerResponse,
  work: (message: Message, stream: ConnectStream) => Promise<void>,
): Promise<void> {
  const [message = {}] = parseFrames(await readBody(request, MAX_FRAME_BYTES));
  const stream = new ConnectStream(response);
  try {
    await work(message, stream);
    stream.end();
  } catch (cause) {
    stream.end(cause);
  }
}

/** Milliseconds that the peer gives the call; undefined for as long as it takes. */
export function timeoutOf(request: IncomingMessage): number | undefined {
  const ms = Number(header(request, 'connect-timeout-ms') ?? 0);
  return ms > 0 ? ms : undefined;
}

export function parseFrames(body: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at + PREFIX_BYTES <= body.length;) {
    const length = body.readUInt32BE(at + 1);
    const data = body.subarray(at + PREFIX_BYTES, at + PREFIX_BYTES + length);
    if (data.length < length) throw E2bRefusal.of('invalid_argument', 'The last frame is cut short.');
    if (((body[at] ?? 0) & END_STREAM) === 0) messages.push(parseObject(data));
    at += PREFIX_BYTES + length;
  }
  return messages;
}

function frame(flags: number, message: Message): Buffer {
  const data = Buffer.from(JSON.stringify(message));
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt8(flags, 0);
  prefix.writeUInt32BE(data.length, 1);
  return Buffer.concat([prefix, data]);
}

function errorBody(refusal: E2bRefusal): Message {
  return { code: refusal.connectCode, message: refusal.message };
}
