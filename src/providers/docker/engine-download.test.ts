import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../testing/manual-clock.ts';
import { EngineClient } from './engine-client.ts';

const MIB = 1024 * 1024;
const REQUEST = { path: '/archive', what: 'read a file' };

let dir = '';
let path = '';
let server: Server | undefined;
let client: EngineClient;
const clock = new ManualClock();
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dk-'));
  path = join(dir, 'engine.sock');
});
afterEach(async () => {
  client.close();
  server?.closeAllConnections();
  server?.close();
  await rm(dir, { recursive: true, force: true });
});

async function engine(answer: RequestListener): Promise<void> {
  server = createServer((request, response) => {
    if (request.url === '/_ping') response.setHeader('api-version', '1.41').end('OK');
    else answer(request, response);
  }).listen(path);
  await once(server, 'listening');
  client = await EngineClient.connect({ kind: 'unix', path }, clock, { patienceMs: 5_000 });
}

describe('a download', () => {
  it.each([0, 1, 511 * 1024, 5 * MIB + 3])('gives all of %i bytes', async (size) => {
    const content = randomBytes(size);
    await engine((_request, response) => {
      for (let at = 0; at < size; at += 50_001) response.write(content.subarray(at, at + 50_001));
      response.end();
    });
    expect((await buffer(await client.download(REQUEST))).equals(content)).toBe(true);
  });

  it('gives blocks that later ones do not overwrite', async () => {
    await engine((_request, response) => response.end(Buffer.alloc(4 * MIB, 'a')));
    const blocks: Uint8Array[] = [];
    for await (const block of await client.download(REQUEST)) blocks.push(block);
    expect(blocks.length).toBeGreaterThan(2);
    expect(Buffer.concat(blocks).equals(Buffer.alloc(4 * MIB, 'a'))).toBe(true);
  });

  it('is refused with the engine’s words', async () => {
    await engine((_request, response) => response.writeHead(404).end('{"message":"no such path"}'));
    await expect(client.download(REQUEST)).rejects.toMatchObject({
      message: 'The engine could not read a file: no such path',
      details: { status: 404 },
    });
  });

  it('holds the engine back while nobody reads', async () => {
    let sent = 0;
    await engine((_request, response) => {
      const more = (): void => {
        while (sent < 64 * MIB && response.write(Buffer.alloc(MIB))) sent += MIB;
        if (sent < 64 * MIB) response.once('drain', more);
      };
      more();
    });
    const download = await client.download(REQUEST);
    let last = -1;
    while (last !== sent) {
      last = sent;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(sent).toBeLessThan(16 * MIB);
    download.destroy();
  });

  it('takes an answer in chunks from somebody who does not know better', async () => {
    const proxy = createNetServer((socket) => {
      socket.once('data', (head) => {
        const isPing = head.includes('/_ping');
        const words = isPing ? 'Api-Version: 1.41\r\nContent-Length: 2' : 'Transfer-Encoding: chunked';
        socket.end(
          `HTTP/1.1 200 OK\r\n${words}\r\nConnection: close\r\n\r\n${isPing ? 'OK' : '3\r\nabc\r\n0\r\n\r\n'}`,
        );
      });
    }).listen(path);
    await once(proxy, 'listening');
    client = await EngineClient.connect({ kind: 'unix', path }, clock, { patienceMs: 5_000 });
    expect((await buffer(await client.download(REQUEST))).toString()).toBe('abc');
    proxy.close();
  });

  it('is given up when the engine falls silent in the middle', async () => {
    await engine((_request, response) => void response.write('the first half'));
    const download = await client.download({ ...REQUEST, patienceMs: 5_000 });
    const failure = expect(buffer(download)).rejects.toMatchObject({
      code: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('has not answered for 5 s; it was to read a file') as string,
    });
    // What came meanwhile is patience renewed.
    for (let times = 0; times < 3; times++) await clock.advance(5_000);
    await failure;
  });

  it('ends when it is aborted', async () => {
    await engine((_request, response) => void response.write('the first half'));
    const controller = new AbortController();
    const reading = buffer(await client.download({ ...REQUEST, signal: controller.signal }));
    controller.abort();
    await expect(reading).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(client.download({ ...REQUEST, signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it('says that nobody is there', async () => {
    await engine((_request, response) => response.end());
    server?.closeAllConnections();
    server?.close();
    await expect(client.download(REQUEST)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
  });
});
