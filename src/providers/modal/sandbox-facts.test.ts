import { describe, expect, it } from 'vitest';
import { providerContext } from '../../../test/setup/serve-namespaces.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import type { KnownSandbox } from './modal-api.ts';
import { parseModalConfig } from './modal-config.ts';
import {
  diskLeftBy,
  endingTags,
  endsAt,
  imagesOf,
  labelsOf,
  networkOf,
  stateOf,
  stoppedTags,
  toSandbox,
  toSuccessor,
} from './sandbox-facts.ts';

const TOKEN = { MODAL_TOKEN_ID: 'ak-1', MODAL_TOKEN_SECRET: 'as-1' };
const config = (options: Record<string, unknown> = {}): ReturnType<typeof parseModalConfig> =>
  parseModalConfig(providerContext(options, TOKEN));
const NOW = 1_000_000;
const DAY_MS = 86_400_000;
const DISK = { imageId: 'im-2', expiresAt: 9_000_000 };
const spec = (over: Partial<SandboxSpec> = {}): SandboxSpec => ({
  name: 'sublet-1',
  labels: { team: 'a' },
  kind: 'execution',
  network: 'open',
  ephemeral: false,
  ...over,
});
const known = (tags: KnownSandbox['tags'], status = 0): KnownSandbox => ({ id: 'sb-1', status, tags });
const made = (over: Partial<SandboxSpec> = {}, options = {}): ReturnType<typeof toSandbox> =>
  toSandbox(spec(over), config(options), 'im-1', NOW);

describe('what is asked of Modal', () => {
  it('opens ports where there is a network, and none where there is none', () => {
    const ports = { ports: ['8080'] };
    expect(made({}, ports).definition).toMatchObject({
      networkAccess: { networkAccessType: 1 },
      openPorts: { ports: [{ port: 8080, unencrypted: false }] },
    });
    expect(made({ network: 'none' }, ports).definition).toMatchObject({
      networkAccess: { networkAccessType: 2 },
      openPorts: { ports: [] },
    });
  });

  it('limits the idle time of what nobody comes back to, and of all where the profile says so', () => {
    expect(made({ deadManMs: 900_500 }).definition.idleTimeoutSecs).toBeUndefined();
    expect(made({ deadManMs: 900_500, ephemeral: true }).definition.idleTimeoutSecs).toBe(901);
    expect(made({ deadManMs: 900_500 }, { idleMinutes: 5 }).definition.idleTimeoutSecs).toBe(300);
  });

  it('passes on the size and the place', () => {
    expect(made({}, { cpu: 0.5, memoryMb: 512, region: 'eu' }).definition).toMatchObject({
      resources: { milliCpu: 500, memoryMb: 512 },
      schedulerPlacement: { regions: ['eu'] },
    });
  });

  it('goes on as it was after a stop, with a life of its own and the disk it began with', () => {
    const { tags } = made({ network: 'none', ephemeral: true, deadManMs: 60_000 });
    const stopped = known(stoppedTags(tags, DISK), 3);
    const next = toSuccessor(stopped, config({ ports: ['80'] }), DISK.imageId, NOW + DAY_MS);
    expect(next.definition).toMatchObject({
      name: 'sublet-1',
      imageId: 'im-2',
      idleTimeoutSecs: 60,
      networkAccess: { networkAccessType: 2 },
      openPorts: { ports: [] },
    });
    const successor = known(next.tags);
    expect([stateOf(successor), networkOf(successor), labelsOf(successor)]).toEqual(['running', 'none', { team: 'a' }]);
    expect(endsAt(successor, undefined)).toBe(NOW + 2 * DAY_MS);
    expect(imagesOf(successor)).toEqual(['im-2']);
  });
});

describe('what tags say', () => {
  const { tags } = made();

  it('is stopped only once it was ended, and not when it ended by itself', () => {
    const stopped = stoppedTags(tags, DISK);
    expect(stateOf(known(stopped))).toBe('running');
    for (const ended of [1, 2, 3]) expect(diskLeftBy(known(stopped, ended))).toEqual(DISK);
    for (const byItself of [4, 5, 6, 7, 8]) expect(diskLeftBy(known(stopped, byItself))).toBeUndefined();
    expect(diskLeftBy(known(tags, 3))).toBeUndefined();
    expect(diskLeftBy(known(endingTags(stopped), 3))).toBeUndefined();
  });

  it('is not running once it is to be destroyed', () => {
    expect(stateOf(known(endingTags(tags)))).toBe('unknown');
  });

  it('ends with its life, earlier when it is idle, and with its disk when it is stopped', () => {
    expect(endsAt(known(tags), NOW)).toBe(NOW + DAY_MS);
    const idle = known(made({ ephemeral: true, deadManMs: 60_000 }).tags);
    expect([endsAt(idle, NOW), endsAt(idle, undefined)]).toEqual([NOW + 60_000, NOW + DAY_MS]);
    expect(endsAt(known(stoppedTags(tags, DISK), 3), NOW)).toBe(DISK.expiresAt);
    expect(endsAt(known({}), NOW)).toBeUndefined();
  });

  it('does not say what the network is where it is not ours', () => {
    expect(networkOf(known({ 'sublet.network': 'half' }))).toBe('unknown');
  });
});
