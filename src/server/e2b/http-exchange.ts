/** Reading requests and writing answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { E2bRefusal } from './e2b-refusal.ts';

/** One request with its answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly url: URL;
}

const MAX_JSON_BYTES = 16 * 1024 * 1024;
const BASE = 'http://localhost';

/** 400 for a path that is none, such as `//`. */
export function toExchange(request: IncomingMessage, response: ServerResponse): Exchange {
  const { method = 'GET', url = '/' } = request;
  if (!URL.canParse(url, BASE)) throw new E2bRefusal(400, 'The path of the request cannot be read.');
  return { request, response, method, url: new URL(url, BASE) };
}

export function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export async function readBody(request: IncomingMessage, maxBytes: number = MAX_JSON_BYTES): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new E2bRefusal(413, `The request is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** 400 for what is not an object. An empty body is an empty object. */
export async function readJson(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  return parseObject(await readBody(request));
}

export function parseObject(body: Buffer): Readonly<Record<string, unknown>> {
  if (body.length === 0) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    throw new E2bRefusal(400, 'The request body is not JSON.');
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Record<string, unknown>;
  throw new E2bRefusal(400, 'The request body is not a JSON object.');
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  });
  response.end(text);
}

export function sendNothing(response: ServerResponse): void {
  response.writeHead(204);
  response.end();
}

/** Resolves when the peer has taken what was written, or has gone. */
export function write(response: ServerResponse, chunk: Uint8Array): Promise<void> | undefined {
  if (response.destroyed || response.write(chunk)) return undefined;
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });
}
