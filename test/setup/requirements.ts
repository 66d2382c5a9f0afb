/** What a test needs from the machine. Absent: the reason is printed, or the test fails where the run demands it. */
import { execFile } from 'node:child_process';
import { writeSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const REQUIREMENTS = [
  'namespace',
  'user',
  'bwrap',
  'tmux',
  'pasta',
  'slirp4netns',
  'iptables',
  'busybox',
  'docker',
  'dockerd',
  'podman',
  'btrfs',
  'postgres',
  'boxlite',
] as const;
export type RequirementName = (typeof REQUIREMENTS)[number];

/** Why it is not there, or undefined when it is. */
export type RequirementProbe = () => Promise<string | undefined>;

const STDERR = 2;

/**
 * Whether this machine has it. When it has not, says so in one line and returns false; throws when
 * `SUBLET_TEST_REQUIRE` (comma-separated names) has the name, so that a full run never passes by skipping.
 */
export async function requirement(name: RequirementName, probe: RequirementProbe = PROBES[name]): Promise<boolean> {
  const reason = await probe();
  if (reason === undefined) return true;
  if (requiredNames().includes(name)) throw new Error(`SUBLET_TEST_REQUIRE demands ${name}: ${reason}`);
  // Past vitest's capture of the console, so that the line stands alone.
  writeSync(STDERR, `skipped: ${name} — ${reason}\n`);
  return false;
}

export interface TestUser {
  readonly uid: number;
  readonly gid: number;
  /** Put before a command's words to run it as this user. */
  readonly prefix: readonly string[];
}

/** An ordinary user to run as: the present one, or for root an id that owns nothing. */
export function ordinaryUser(): TestUser {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  if (uid !== 0) return { uid, gid, prefix: [] };
  const id = 65_533;
  return { uid: id, gid: id, prefix: ['setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--'] };
}

/** A Docker engine for tests: its own variable, so that a developer's engine is not used by surprise. */
export function dockerHost(): string | undefined {
  return process.env['SUBLET_TEST_DOCKER_HOST'];
}

/** Podman's compatible service, likewise. */
export function podmanHost(): string | undefined {
  return process.env['SUBLET_TEST_PODMAN_HOST'];
}

/** An image with sh and the usual programs that both engines have. */
export function dockerImage(): string {
  return process.env['SUBLET_TEST_DOCKER_IMAGE'] ?? 'busybox';
}

function requiredNames(): readonly string[] {
  return (process.env['SUBLET_TEST_REQUIRE'] ?? '').split(',').map((name) => name.trim());
}

const PROBES: Readonly<Record<RequirementName, RequirementProbe>> = {
  namespace: () => failure(['unshare', '--user', '--map-root-user', '--mount', '--pid', '--net', '--fork', 'true']),
  user: async () => {
    const { prefix } = ordinaryUser();
    const unshare = await failure([...prefix, 'unshare', '--user', '--map-root-user', 'true']);
    const source = `await import(${JSON.stringify(import.meta.url)})`;
    return unshare ?? failure([...prefix, process.execPath, '--import', 'tsx', '--input-type=module', '-e', source]);
  },
  bwrap: () => failure(['bwrap', '--ro-bind', '/', '/', 'true']),
  tmux: () => failure(['tmux', '-V']),
  pasta: () => failure(['pasta', '--version']),
  slirp4netns: () => failure(['slirp4netns', '--version']),
  iptables: () => failure(['unshare', '--net', 'iptables', '--table', 'nat', '--list']),
  // A root file system is made of it alone, so it must need no library.
  busybox: async () => failure(['sh', '-c', '! ldd "$(command -v busybox)" >/dev/null 2>&1 && busybox true']),
  docker: async () => {
    const host = dockerHost();
    if (host === undefined) return 'SUBLET_TEST_DOCKER_HOST names no engine';
    return failure(['docker', '--host', host, 'version']);
  },
  // An engine of a test's own, for what nobody else's engine may suffer.
  dockerd: async () => {
    if (process.getuid?.() !== 0) return 'only root can start an engine';
    return (await failure(['dockerd', '--version'])) ?? (await failure(['docker', '--version'])) ?? PROBES.busybox();
  },
  podman: async () => {
    const host = podmanHost();
    if (host === undefined) return 'SUBLET_TEST_PODMAN_HOST names no service';
    return failure(['podman', '--url', host, 'version']);
  },
  // A file system of which the engine can give each container a share.
  btrfs: async () => (await PROBES.dockerd()) ?? failure(['sh', '-c', BTRFS_PROBE]),
  // Not part of a full run: the machines it runs on are VMs themselves.
  boxlite: async () => {
    const { assertVmSupport } = await import('../../src/providers/boxlite/vm-support.ts');
    return assertVmSupport().then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    );
  },
  postgres: async () => {
    const { sharedPostgres } = await import('./postgres.ts');
    const server = await sharedPostgres();
    return 'reason' in server ? server.reason : undefined;
  },
};

const BTRFS_PROBE = `
command -v mkfs.btrfs >/dev/null || { echo 'there is no mkfs.btrfs' >&2; exit 1; }
grep -qw btrfs /proc/filesystems || { echo 'the kernel has no btrfs' >&2; exit 1; }
losetup --find >/dev/null
`;

async function failure([command = '', ...args]: readonly string[]): Promise<string | undefined> {
  try {
    await run(command, args, { timeout: 20_000 });
    return undefined;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    return (stderr?.trim() || message).split('\n').at(-1);
  }
}
