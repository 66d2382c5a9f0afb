/**
 * File descriptors that this process was started with and would hand on: a lock, a socket, perhaps a directory of the
 * host. Node closes none of them in a child and `sh` cannot, so a child that becomes an agent's finds /dev/null there.
 */
import { access, constants, type FileHandle, open, readdir, readFile } from 'node:fs/promises';
import { SubletError } from '../../core/errors.ts';

export type Stdio = 'ignore' | 'pipe' | number;

interface Inherited {
  readonly fds: readonly number[];
  /** Held here, or the collector would close it. */
  readonly nothing: FileHandle | undefined;
}

const CLOSE_ON_EXEC = 0o2_000_000;

/** Found once: what is opened later is opened by Node, which lets no child have it. */
let found: Promise<Inherited> | undefined;

/** `stdio` followed by what covers every inherited descriptor beyond it. */
export async function withoutInherited(stdio: readonly Stdio[]): Promise<Stdio[]> {
  const { fds, nothing } = await (found ??= findInherited());
  const covered: Stdio[] = [...stdio];
  for (const fd of fds) {
    if (nothing === undefined || fd < stdio.length) continue;
    while (covered.length < fd) covered.push('ignore');
    covered[fd] = nothing.fd;
  }
  return covered;
}

/** For starters that take no `stdio`: a line that closes what is inherited and becomes `line`. */
export async function closingInherited(line: readonly string[]): Promise<readonly string[]> {
  const { fds } = await (found ??= findInherited());
  if (fds.length === 0) return line;
  // POSIX names one digit, and dash knows no more.
  const shell = fds.every((fd) => fd < 10) ? '/bin/sh' : await findBash();
  return [shell, '-c', `exec ${fds.map((fd) => `${fd}>&-`).join(' ')}; exec "$@"`, 'sh', ...line];
}

async function findBash(): Promise<string> {
  for (const path of ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash']) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  throw new SubletError(
    'UNSUPPORTED',
    'This process was started with open files that a terminal would hand to the agent.',
    {
      hint: 'Install bash, which can close them, or start this process without them.',
    },
  );
}

async function findInherited(): Promise<Inherited> {
  const names = await readdir('/proc/self/fdinfo').catch(() => []);
  const all = await Promise.all(names.map(async (name) => ((await isInheritable(name)) ? Number(name) : -1)));
  const fds = all.filter((fd) => fd > 2).sort((a, b) => a - b);
  return { fds, nothing: fds.length === 0 ? undefined : await open('/dev/null', 'r+') };
}

async function isInheritable(fd: string): Promise<boolean> {
  const text = await readFile(`/proc/self/fdinfo/${fd}`, 'utf8').catch(() => '');
  const flags = /^flags:\s*([0-7]+)$/mu.exec(text)?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
}
