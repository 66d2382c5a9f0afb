/**
 * File descriptors that this process was started with and would hand on: a lock, a socket, perhaps a directory of the
 * host. Node closes none of them in a child and `sh` cannot, so a child that becomes an agent's finds /dev/null there.
 */
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { SubletError } from '../../core/errors.ts';

export type Stdio = 'ignore' | 'pipe' | number;

interface Inherited {
  readonly fds: readonly number[];
  /** /dev/null, where there are any. */
  readonly nothing: number | undefined;
}

const CLOSE_ON_EXEC = 0o2_000_000;

/** Found once: what is opened later is opened by Node, which lets no child have it. */
let found: Inherited | undefined;

/** `stdio` followed by what covers every inherited descriptor beyond it. */
export function withoutInherited(stdio: readonly Stdio[]): Stdio[] {
  const { fds, nothing } = (found ??= findInherited());
  const covered: Stdio[] = [...stdio];
  for (const fd of fds) {
    if (nothing === undefined || fd < stdio.length) continue;
    while (covered.length < fd) covered.push('ignore');
    covered[fd] = nothing;
  }
  return covered;
}

/** For starters that take no `stdio`: a line that closes what is inherited and becomes `line`. */
export async function closingInherited(line: readonly string[]): Promise<readonly string[]> {
  const { fds } = (found ??= findInherited());
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

// At once: the kernel answers from memory, and to hand each of two dozen reads to another thread takes ten times as long.
function findInherited(): Inherited {
  const fds = openDescriptors()
    .filter((fd) => fd > 2 && isInheritable(fd))
    .sort((a, b) => a - b);
  return { fds, nothing: fds.length === 0 ? undefined : openSync('/dev/null', 'r+') };
}

function openDescriptors(): number[] {
  try {
    return readdirSync('/proc/self/fdinfo').map(Number);
  } catch {
    return [];
  }
}

function isInheritable(fd: number): boolean {
  const [, text] = readDescriptor(fd).split('flags:');
  return text !== undefined && (Number.parseInt(text, 8) & CLOSE_ON_EXEC) === 0;
}

/** Empty when it was closed since. */
function readDescriptor(fd: number): string {
  try {
    return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
  } catch {
    return '';
  }
}
