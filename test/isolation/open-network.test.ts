import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { mayOpenTun } from '../../src/providers/namespace/tap-uplink.ts';
import { findUplink, type UplinkTool } from '../../src/providers/namespace/uplink.ts';
import { requirement } from '../setup/requirements.ts';
import type { Seen } from './open-network-process.ts';
import { canRun, isRoot, openWorld } from './world.ts';

const world = await openWorld();

const SERVER = `
const { createServer } = require('node:net');
const serve = (address, port, text) => createServer((socket) => {
  const timer = setInterval(() => socket.write(text + '\\n'), 20);
  socket.on('error', () => {}).on('close', () => clearInterval(timer));
}).listen(port, address);
serve('10.98.0.1', 7001, 'other'); serve('127.0.0.1', 7002, 'loopback'); serve('::1', 7003, 'loopback');
`;

/** A host of two networks: one that the default route is on, and one beside it. $1 is the server. */
const HOST = `
ip link set lo up
ip link add first type veth peer name far && ip addr add 10.99.0.2/24 dev first && ip link set first up && ip link set far up
ip link add second type veth peer name beyond && ip addr add 10.98.0.1/24 dev second && ip link set second up && ip link set beyond up
ip route add default via 10.99.0.1 || exit 1
node=$2
"$node" -e "$1" &
shift
`;

/** What the manager becomes there: root stays root, an ordinary user becomes one again. */
const BECOME = isRoot ? 'exec "$@"' : 'exec unshare --user --map-user=1000 --map-group=1000 "$@"';
const OUTER = [
  'unshare',
  ...(isRoot ? [] : ['--user', '--map-root-user']),
  '--net',
  '--mount',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
];

async function lookAround(uplink: UplinkTool): Promise<Seen> {
  const program = join(import.meta.dirname, 'open-network-process.ts');
  const manager = [process.execPath, '--import', 'tsx', program, world.stateDir, `iso-${randomUUID()}`, uplink];
  const [file = '', ...args] = [...OUTER, 'sh', '-c', HOST + BECOME, 'sh', SERVER, ...manager];
  const { stdout } = await promisify(execFile)(file, args, { timeout: 55_000, killSignal: 'SIGKILL' });
  return JSON.parse(stdout) as Seen;
}

function expectOpenAndCut(seen: Seen): void {
  const [before = 0, ...after] = seen.lines;
  expect(seen.other).toBe('other\n');
  expect(seen.loopback).toBe('');
  expect(before).toBeGreaterThan(0);
  expect(after[0]).toBe(after[1]);
  expect(seen.processLives).toBe(true);
  expect(seen.otherAfterwards).toBe('');
}

const TITLE = 'reaches what the host reaches but its loopback, and is cut without ending a process';
const [hasPasta, hasSlirp] = [await requirement('pasta'), await requirement('slirp4netns')];

const canOpen = await mayOpenTun();

describe.runIf(canRun && (hasPasta || hasSlirp))('an open network', () => {
  if (!canOpen) {
    it('is refused with what would allow it where this user may not make a network device', async () => {
      const uplink: UplinkTool = hasPasta ? 'pasta' : 'slirp4netns';
      expect(await findUplink([uplink])).toMatchObject({ fix: expect.stringContaining('/dev/net/tun') });
    });
    return;
  }
  if (hasPasta) it(`through pasta ${TITLE}`, async () => expectOpenAndCut(await lookAround('pasta')));
  if (hasSlirp) it(`through slirp4netns ${TITLE}`, async () => expectOpenAndCut(await lookAround('slirp4netns')));
});
