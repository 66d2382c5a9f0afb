/** Processes that work for one home, found by their environment: sandboxes' own have another. */
import { readdir, readFile } from 'node:fs/promises';

export interface HomeProcess {
  readonly pid: number;
  readonly parentPid: number;
  readonly args: readonly string[];
  /** The kernel's number of its session: the terminal's Ctrl-C reaches one session. */
  readonly session: number;
}

/** Ended ones that wait to be collected are left out. */
export async function processesOf(home: string): Promise<readonly HomeProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => describe(Number(pid), `SUBLET_HOME=${home}`)));
  return found.filter((process) => process !== undefined);
}

/** Those that wait for an owner's end, and those that see to what it left. */
export async function watchdogsOf(home: string): Promise<readonly HomeProcess[]> {
  return (await processesOf(home)).filter(({ args }) => args.some((word) => word.endsWith('/watchdog.js')));
}

async function describe(pid: number, variable: string): Promise<HomeProcess | undefined> {
  try {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
    if (!environment.split('\0').includes(variable)) return undefined;
    const [args, stat] = await Promise.all(['cmdline', 'stat'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')));
    const [state, parent, , session] = (stat ?? '').slice((stat ?? '').lastIndexOf(')') + 2).split(' ');
    if (state === 'Z') return undefined;
    return { pid, parentPid: Number(parent), args: (args ?? '').split('\0'), session: Number(session) };
  } catch {
    // It has ended, or is another user's.
    return undefined;
  }
}
