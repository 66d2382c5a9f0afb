/** Free ports of this machine, from 10000 up. */
import { createServer } from 'node:net';
import { SubletError } from '../../core/errors.ts';

const FIRST = 10_000;
const LAST = 65_535;
const HOST = '127.0.0.1';

/** Given out by this process; a VM begins to listen only when it starts. */
const given = new Set<number>();

/** Nobody listens there, and this process gives it to nobody else until `releasePorts`. */
export async function takePort(): Promise<number> {
  for (let port = FIRST; port <= LAST; port++) {
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
    given.delete(port);
  }
  throw new SubletError('QUOTA_EXCEEDED', `No port from ${FIRST} up is free.`, { hint: 'End what listens there.' });
}

export function releasePorts(ports: readonly number[]): void {
  for (const port of ports) given.delete(port);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: HOST, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
