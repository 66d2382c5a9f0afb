/** What a sandbox is like, read from the host's side: nothing inside has a say in it. Two fresh ones of a kind are alike. */
import { createHash } from 'node:crypto';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { readCommandLine } from './command-line.ts';
import { DISK_DIRS } from './layout.ts';
import { SETUP } from './setup-script.ts';

/** Each part as a set of facts in words. */
export interface Fingerprint {
  readonly mount: readonly string[];
  readonly process: readonly string[];
  readonly socket: readonly string[];
  readonly device: readonly string[];
  readonly file: readonly string[];
  readonly user: readonly string[];
  readonly limit: readonly string[];
}

/** Everything in it that can be written, whatever else the mounts say. */
const WRITABLE: readonly string[] = [...DISK_DIRS.map((dir) => dir.target), '/dev/shm', '/dev/pts'];
/** Enough to say that it is not clean. */
const MOST_FILES = 50;
const SOCKETS = ['tcp', 'tcp6', 'udp', 'udp6', 'udplite', 'udplite6', 'raw', 'raw6', 'icmp', 'packet', 'unix'];

const SETUP_LINE = `sh -c ${SETUP}`;
const OWN_SHELL =
  /^(setsid )?sh (\/run\/sublet\/scripts\/init (free|owned|once)|-c \. \/run\/sublet\/scripts\/armed sh \w+)$/u;

/** `pid` is its first process, as the host counts. */
export async function readFingerprint(pid: number): Promise<Fingerprint> {
  const [mount, process, socket, device, file, user, limit] = await Promise.all([
    readMounts(pid),
    readProcesses(pid),
    Promise.all(SOCKETS.map((kind) => readSockets(pid, kind))).then((each) => each.flat()),
    readDevices(pid),
    Promise.all(WRITABLE.map((path) => readTree(`/proc/${pid}/root`, path))).then((each) => each.flat()),
    readUsers(pid),
    readLimits(pid),
  ]);
  return { mount, process, socket, device, file, user, limit };
}

/** What is there and was not, and what was there and is not, in words. */
export function differencesBetween(fresh: Fingerprint, now: Fingerprint): readonly string[] {
  return (Object.keys(fresh) as (keyof Fingerprint)[]).flatMap((part) => {
    const [before, after] = [new Set(fresh[part]), new Set(now[part])];
    return [
      ...[...after].filter((fact) => !before.has(fact)).map((fact) => `a ${part} that was not there: ${fact}`),
      ...[...before].filter((fact) => !after.has(fact)).map((fact) => `a ${part} that was there: ${fact}`),
    ];
  });
}

/** Without the numbers that the kernel gives to each mount anew. */
async function readMounts(pid: number): Promise<readonly string[]> {
  const lines = (await readFile(`/proc/${pid}/mountinfo`, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => {
    const [where = '', what = ''] = line.split(' - ');
    return [...where.split(' ').slice(3, 6), what].join(' ');
  });
}

/** Those that are not the sandbox's own shells, which come and go. */
async function readProcesses(pid: number): Promise<readonly string[]> {
  const proc = `/proc/${pid}/root/proc`;
  const pids = (await readdir(proc)).filter((name) => /^\d+$/u.test(name));
  const lines = await Promise.all(pids.map((inner) => readCommandLine(`${proc}/${inner}/cmdline`)));
  return lines.filter((line) => line !== '' && !isOwnShell(line));
}

/** The last of the set-up may still be on its way out. */
function isOwnShell(line: string): boolean {
  return line.startsWith(SETUP_LINE) || OWN_SHELL.test(line);
}

async function readSockets(pid: number, kind: string): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/net/${kind}`, 'utf8').catch(() => '');
  return text
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => {
      const fields = line.trim().split(/\s+/u);
      return kind === 'unix' ? `unix ${fields[7] ?? 'without a name'}` : `${kind} ${fields[1]} in state ${fields[3]}`;
    });
}

async function readDevices(pid: number): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/net/dev`, 'utf8');
  return text.split('\n').flatMap((line) => /^\s*([^\s:]+):/u.exec(line)?.[1] ?? []);
}

/** No link is followed: the walk stays below where it began. */
async function readTree(root: string, path: string): Promise<readonly string[]> {
  const found: string[] = [];
  const waiting = [path];
  for (let next = waiting.shift(); next !== undefined && found.length < MOST_FILES; next = waiting.shift()) {
    const info = await lstat(root + next);
    found.push(`${next} (mode ${info.mode.toString(8)}, owner ${info.uid}:${info.gid})`);
    if (info.isDirectory()) for (const name of await readdir(root + next)) waiting.push(`${next}/${name}`);
  }
  return found;
}

/** The lists of accounts only by what they amount to: an image may have a link in their place. */
async function readUsers(pid: number): Promise<readonly string[]> {
  const maps = ['uid_map', 'gid_map'].map(async (name) => {
    const text = await readFile(`/proc/${pid}/${name}`, 'utf8');
    return `${name} ${text.trim().replaceAll(/\s+/gu, ' ')}`;
  });
  const lists = ['passwd', 'group'].map(async (name) => {
    const text = await readFile(`/proc/${pid}/root/etc/${name}`).catch(() => '');
    return `list /etc/${name} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  });
  return Promise.all([...maps, ...lists]);
}

async function readLimits(pid: number): Promise<readonly string[]> {
  const [limits, status] = await Promise.all([
    readFile(`/proc/${pid}/limits`, 'utf8'),
    readFile(`/proc/${pid}/status`, 'utf8'),
  ]);
  const rights = status.split('\n').filter((line) => /^(Cap\w+|NoNewPrivs|Seccomp|Uid|Gid|Groups):/u.test(line));
  return [...limits.trimEnd().split('\n').slice(1), ...rights].map((line) => line.trim().replaceAll(/\s+/gu, ' '));
}
