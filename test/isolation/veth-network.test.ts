import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { SubletError } from '../../src/core/errors.ts';
import { findUplink } from '../../src/providers/namespace/uplink.ts';
import { provider as module } from '../../src/providers/namespace/index.ts';
import { requirement } from '../setup/requirements.ts';
import { canRun, contextOf, isRoot, openWorld, signal } from './world.ts';
import type { VethSeen } from './veth-network-process.ts';

const world = await openWorld();
const HOST = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];

async function lookAround(forwarding: '0' | '1'): Promise<VethSeen> {
  const program = join(import.meta.dirname, 'veth-network-process.ts');
  const line = [...HOST, process.execPath, '--import', 'tsx', program, world.stateDir, `iso-${randomUUID()}-`];
  const { stdout } = await promisify(execFile)('unshare', [...line, forwarding], {
    timeout: 55_000,
    killSignal: 'SIGKILL',
  });
  return JSON.parse(stdout) as VethSeen;
}

function expectOpenAndClosed(seen: VethSeen): void {
  const masqueraded = '203.0.113.2\n';
  expect(seen.source).toBe(masqueraded);
  expect(seen.host).toBe('');
  expect(seen.hostByItself).toContain('host\n');
  expect(seen.between).toBe('');
  expect(seen.inbound).toBe('');
  expect(seen.interfaces).toBe('lo\neth0\n');
  expect(seen.sourceAfterPause).toBe(masqueraded);
  expect(seen.sourceAfterStop).toBe(masqueraded);
}

function expectCutAndGone({ bytes: [before = 0, ...after], ...seen }: VethSeen): void {
  expect(before).toBeGreaterThan(0);
  expect(after[0]).toBe(after[1]);
  expect(seen.processLives).toBe(true);
  expect(seen.sourceAfterCut).toBe('');
  const [untouched, crashed, last] = seen.traces;
  expect(crashed).toContain('MASQUERADE');
  expect(last).toBe(untouched);
}

const canConnect = canRun && isRoot && (await requirement('iptables'));

describe.runIf(canRun && (canConnect || !isRoot))('an open network by a pair of devices', () => {
  if (!isRoot) {
    it('is refused to an ordinary user, with what would do instead', refusedToUser);
    return;
  }

  it(
    'reaches what is beyond the host and nothing of it, is cut live and leaves nothing',
    { timeout: 60_000 },
    async () => {
      const seen = await lookAround('1');
      expectOpenAndClosed(seen);
      expect(seen.guarded).toBe(false);
      expectCutAndGone(seen);
    },
  );

  it(
    'has a host that does not forward do so for its answers alone, and for as long as it is there',
    { timeout: 60_000 },
    async () => {
      const seen = await lookAround('0');
      expectOpenAndClosed(seen);
      expect(seen.guarded).toBe(true);
      expectCutAndGone(seen);
    },
  );
});

describe.runIf(canRun)('the way to an open network', () => {
  it('is one that the provider knows', async () => {
    const opening = module.open({ ...contextOf(world.stateDir), options: { uplink: 'bridge' } });
    const error = await opening.catch((cause: unknown) => cause);
    expect(SubletError.is(error, 'CONFIG_INVALID') && error.hint).toContain('pasta, slirp4netns, veth');
  });
});

async function refusedToUser(): Promise<void> {
  expect(await findUplink(['veth'])).toMatchObject({ missing: expect.stringContaining('root') });
  const provider = await module.open({ ...contextOf(world.stateDir), options: { uplink: 'veth' } });
  const spec = {
    name: `iso-${randomUUID()}`,
    labels: {},
    kind: 'execution',
    network: 'open',
    ephemeral: true,
  } as const;
  const error = await provider.create(spec, signal).catch((cause: unknown) => cause);
  expect(SubletError.is(error, 'UNSUPPORTED') && error.hint).toContain('apt-get install');
  await provider.close();
}
