/**
 * Faults of a service, armed one by one and taken by the requests they are meant for. `wrap` puts them in front of an
 * HTTP server; what speaks another protocol asks `take` and does the rest itself.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export type Fault =
  /** Says this, and does nothing. */
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** Does nothing and breaks the connection. */
  | { readonly kind: 'unreachable' }
  /** Does it, and breaks the connection instead of telling. */
  | { readonly kind: 'lost-answer' }
  /** Breaks the connection once this much of the answer's body has been sent. */
  | { readonly kind: 'dropped'; readonly afterBytes: number }
  /** Does it only when `release` is called. */
  | { readonly kind: 'held' };

export interface FaultRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
}

export interface ArmedFault {
  /** How many requests it has met. */
  readonly met: number;
  /** Resolves when the first request has met it. */
  readonly meeting: Promise<void>;
  /** Takes it back; held requests go on. */
  release(): void;
}

type Match = (request: FaultRequest) => boolean;

interface Entry {
  readonly match: Match;
  readonly fault: Fault;
  readonly released: Promise<void>;
  left: number;
  met: number;
  meet(): void;
  free(): void;
}

export class FaultSwitchboard {
  readonly #armed = new Set<Entry>();

  /** For the next `times` requests that match; the first armed of several that do. */
  arm(match: Match, fault: Fault, times = 1): ArmedFault {
    let meet = (): void => undefined;
    let free = (): void => undefined;
    const meeting = new Promise<void>((resolve) => (meet = resolve));
    const released = new Promise<void>((resolve) => (free = resolve));
    const entry: Entry = { match, fault, released, left: times, met: 0, meet, free };
    this.#armed.add(entry);
    return {
      get met() {
        return entry.met;
      },
      meeting,
      release: () => {
        this.#armed.delete(entry);
        free();
      },
    };
  }

  /** The fault that this request meets, which is then used up by one. */
  take(request: FaultRequest): { readonly fault: Fault; readonly released: Promise<void> } | undefined {
    for (const entry of this.#armed) {
      if (entry.left <= 0 || !entry.match(request)) continue;
      entry.left--;
      entry.met++;
      entry.meet();
      return entry;
    }
    return undefined;
  }

  /** No fault is left from one test to the next; held requests go on. */
  clear(): void {
    for (const entry of this.#armed) entry.free();
    this.#armed.clear();
  }

  wrap(serve: RequestListener): RequestListener {
    return (request, response) => {
      const met = this.take({ method: request.method ?? 'GET', path: request.url ?? '/' });
      if (met === undefined) return serve(request, response);
      const { fault, released } = met;
      switch (fault.kind) {
        case 'answer':
          return refuse(request, response, fault.answer);
        case 'unreachable':
          request.socket.destroy();
          return undefined;
        case 'lost-answer':
          return serve(request, mute(response));
        case 'dropped':
          return serve(request, dropping(response, fault.afterBytes));
        case 'held':
          return void released.then(() => serve(request, response));
      }
    };
  }
}

function refuse(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  request.resume();
  const body =
    answer.body === undefined ? '' : typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
  response.end(body);
}

/** The answer goes nowhere, and its end is the end of the connection. */
function mute(response: ServerResponse): ServerResponse {
  response.writeHead = () => response;
  response.flushHeaders = () => undefined;
  response.write = (() => true) as ServerResponse['write'];
  response.end = (() => {
    response.destroy();
    return response;
  }) as ServerResponse['end'];
  return response;
}

function dropping(response: ServerResponse, afterBytes: number): ServerResponse {
  const write = response.write.bind(response) as (chunk: Uint8Array) => boolean;
  let left = afterBytes;
  const drop = (): void => {
    if (!response.headersSent) response.flushHeaders();
    // After what was written has left.
    setImmediate(() => response.destroy());
  };
  response.write = ((chunk: string | Uint8Array) => {
    const bytes = Buffer.from(chunk as string);
    if (left > 0) write(bytes.subarray(0, left));
    left -= bytes.length;
    if (left <= 0) drop();
    return true;
  }) as ServerResponse['write'];
  response.end = ((chunk?: string | Uint8Array) => {
    if (chunk !== undefined && left > 0) write(Buffer.from(chunk as string).subarray(0, left));
    drop();
    return response;
  }) as ServerResponse['end'];
  return response;
}
