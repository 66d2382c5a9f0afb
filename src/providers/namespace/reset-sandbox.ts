/** Reset: everything inside ends with its namespaces and is made anew under the same name, and what came of it is compared. */
import { open, readdir, readFile, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResetReport } from '../../provider/provider.ts';
import { differencesBetween, readFingerprint, type Fingerprint } from './fingerprint.ts';
import type { SandboxPaths } from './layout.ts';
import { removeTree } from './remove-tree.ts';
import type { SandboxRecord } from './sandbox-record.ts';

/** What a sandbox has to itself. Held open, the number of an old one is not given to a new one. */
const NAMESPACES = ['mnt', 'pid', 'net', 'ipc', 'uts', 'user', 'cgroup'];

export interface Remaking {
  /** Ends every process and what the kernel holds for them. */
  end(): Promise<void>;
  /** Makes the inside anew, and returns its record. */
  start(): Promise<SandboxRecord>;
}

/** Notes what it is like before anybody has used it. Where that cannot be seen, no reset of it will be clean. */
export async function noteFresh(paths: SandboxPaths, pid: number | undefined): Promise<void> {
  const fresh = await readFingerprint(pid ?? 0).catch(() => undefined);
  if (fresh !== undefined) await writeFile(paths.fresh, JSON.stringify(fresh), { mode: 0o600 });
}

export async function resetSandbox(record: SandboxRecord, paths: SandboxPaths, work: Remaking): Promise<ResetReport> {
  const fresh = await readFresh(paths);
  const lasting = whatOutlives(record);
  if (fresh === undefined || lasting.length > 0)
    return unclean([...lasting, ...(fresh === undefined ? ['nobody noted what it was like when it was made'] : [])]);
  const before = await openNamespaces(record.init?.pid);
  try {
    await work.end();
    await wipe(paths);
    const pid = (await work.start()).init?.pid ?? 0;
    const [now, shared] = await Promise.all([readFingerprint(pid), sharedNamespaces(before, pid)]);
    return unclean([...shared, ...differencesBetween(fresh, now)]);
  } finally {
    await Promise.all(before.map(({ file }) => file.close()));
  }
}

/** What others see or what lies elsewhere cannot be undone from here. */
function whatOutlives({ contextId, mounts, network, tightenedFrom }: SandboxRecord): readonly string[] {
  return [
    ...(tightenedFrom === undefined ? [] : [`the network is "${network}" and was "${tightenedFrom}"`]),
    ...(contextId === undefined ? [] : ['its volume outlives it: what was written there stays']),
    ...mounts
      .filter(({ readOnly }) => readOnly === false)
      .map(({ target }) => `${target} is a directory of the host that can be written`),
  ];
}

/** All but what this host knows of it. */
async function wipe(paths: SandboxPaths): Promise<void> {
  const kept = new Set([paths.record, paths.fresh, paths.lock]);
  const entries = (await readdir(paths.dir)).map((name) => join(paths.dir, name));
  await Promise.all(entries.filter((path) => !kept.has(path)).map(removeTree));
}

interface OpenNamespace {
  readonly name: string;
  readonly file: FileHandle;
}

/** None of one that has ended already. */
async function openNamespaces(pid: number | undefined): Promise<readonly OpenNamespace[]> {
  const opened = await Promise.all(
    NAMESPACES.map(async (name) => ({ name, file: await open(`/proc/${pid}/ns/${name}`).catch(() => undefined) })),
  );
  return opened.filter((each): each is OpenNamespace => each.file !== undefined);
}

async function sharedNamespaces(before: readonly OpenNamespace[], pid: number): Promise<readonly string[]> {
  const after = await openNamespaces(pid);
  try {
    if (after.length !== NAMESPACES.length) return ['its namespaces cannot be seen'];
    const numbers = new Set(await Promise.all(before.map(async ({ file }) => (await file.stat()).ino)));
    const same = await Promise.all(after.map(async ({ file }) => numbers.has((await file.stat()).ino)));
    return after.filter((_, index) => same[index]).map(({ name }) => `a namespace of before: ${name}`);
  } finally {
    await Promise.all(after.map(({ file }) => file.close()));
  }
}

async function readFresh(paths: SandboxPaths): Promise<Fingerprint | undefined> {
  return readFile(paths.fresh, 'utf8').then(
    (text) => JSON.parse(text) as Fingerprint,
    () => undefined,
  );
}

function unclean(differences: readonly string[]): ResetReport {
  return { clean: differences.length === 0, differences };
}
