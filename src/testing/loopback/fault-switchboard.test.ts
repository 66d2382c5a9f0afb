import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FaultSwitchboard } from './fault-switchboard.ts';

const faults = new FaultSwitchboard();
let served = 0;
let server: Server;
let url = '';

beforeAll(async () => {
  server = createServer(
    faults.wrap((_request, response) => {
      served++;
      response.writeHead(200);
      response.write('0123456789');
      response.end('abcdefghij');
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => faults.clear());
afterAll(() => new Promise((resolve) => server.close(resolve)));

const isA = ({ path }: { readonly path: string }): boolean => path.startsWith('/a');
const text = async (path: string): Promise<string> => (await fetch(`${url}${path}`)).text();

describe('the fault switchboard', () => {
  it('answers in place of the service, for the requests and the times it was armed for', async () => {
    const armed = faults.arm(isA, { kind: 'answer', answer: { status: 429, headers: { 'retry-after': '2' } } });
    expect(await text('/b')).toBe('0123456789abcdefghij');
    const refused = await fetch(`${url}/a`);
    expect([refused.status, refused.headers.get('retry-after'), armed.met]).toEqual([429, '2', 1]);
    expect(await text('/a')).toBe('0123456789abcdefghij');
  });

  it('loses an answer after the work was done', async () => {
    const before = served;
    faults.arm(isA, { kind: 'lost-answer' });
    await expect(text('/a')).rejects.toThrow('fetch failed');
    expect(served).toBe(before + 1);
  });

  it('cannot be reached without the work being done', async () => {
    const before = served;
    faults.arm(isA, { kind: 'unreachable' });
    await expect(text('/a')).rejects.toThrow('fetch failed');
    expect(served).toBe(before);
  });

  it('drops a connection in the middle of the answer', async () => {
    faults.arm(isA, { kind: 'dropped', afterBytes: 5 });
    const response = await fetch(`${url}/a`);
    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('holds a request until it is released', async () => {
    const armed = faults.arm(isA, { kind: 'held' });
    const before = served;
    const answer = text('/a');
    await armed.meeting;
    expect(served).toBe(before);
    armed.release();
    expect(await answer).toBe('0123456789abcdefghij');
  });
});
