import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../testing/manual-clock.ts';
import { EngineClient } from './engine-client.ts';

const GET = { method: 'GET', path: '/info', what: 'describe itself' } as const;

let dir = '';
let path = '';
let server: Server | undefined;
const clock = new ManualClock();
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dk-'));
  path = join(dir, 'engine.sock');
});
afterEach(async () => {
  await stop();
  await rm(dir, { recursive: true, force: true });
});

/** An engine that answers the first question, and then as it is told. */
async function listen(answer: RequestListener): Promise<void> {
  server = createServer((request, response) => {
    if (request.url === '/_ping') response.setHeader('api-version', '1.41').end('OK');
    else answer(request, response);
  }).listen(path);
  await once(server, 'listening');
}

async function stop(): Promise<void> {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
}

function connect(): Promise<EngineClient> {
  return EngineClient.connect({ kind: 'unix', path }, clock, { patienceMs: 5_000 });
}

describe('a client of an engine', () => {
  it('speaks the version that was agreed on', async () => {
    await listen((request, response) => response.end(JSON.stringify({ url: request.url })));
    const client = await connect();
    expect(await client.json(GET)).toEqual({ url: '/v1.41/info' });
    client.close();
  });

  it('goes on when the engine was restarted', async () => {
    await listen((_request, response) => response.end('{"a":1}'));
    const client = await connect();
    await client.json(GET);
    await stop();
    await expect(client.json(GET)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    await listen((_request, response) => response.end('{"a":2}'));
    expect(await client.json(GET)).toEqual({ a: 2 });
    client.close();
  });

  it('gives up an engine that hangs, and says what it was to do', async () => {
    let asked = (): void => undefined;
    const hasAsked = new Promise<void>((resolve) => (asked = resolve));
    await listen(() => asked());
    const client = await connect();
    const failure = expect(client.json({ ...GET, patienceMs: 3_000 })).rejects.toMatchObject({
      code: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('it was to describe itself') as string,
    });
    await hasAsked;
    await clock.advance(3_000);
    await failure;
    client.close();
  });

  it('gives up when the caller does', async () => {
    const giveUp = new AbortController();
    await listen(() => giveUp.abort());
    const client = await connect();
    await expect(client.json({ ...GET, signal: giveUp.signal })).rejects.toMatchObject({ code: 'ABORTED' });
    client.close();
  });

  it('tells why an upload was refused before it was sent whole', async () => {
    await listen((_request, response) => response.writeHead(507).end('{"message":"no space left on device"}'));
    const client = await connect();
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield await Promise.resolve(Buffer.alloc(64 * 1024));
    }
    const uploading = client.upload({ ...GET, method: 'PUT', what: 'write' }, endless());
    await expect(uploading).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    client.close();
  });
});
