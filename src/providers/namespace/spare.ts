/**
 * A whole sandbox of the plainest kind, made for one command before anybody has asked for it. It waits in a draft's
 * directory, is nobody's until it takes a name, and ends with this process.
 */
import { mkdirSync, renameSync } from 'node:fs';
import { makerMark } from '../../provider/posix/maker-mark.ts';
import type { ExpectedSandbox } from '../../provider/provider.ts';
import { removeCgroups } from './cgroup.ts';
import { draftName, pathsIn, type SandboxPaths, uniqueName } from './layout.ts';
import type { MountPlan } from './mount-plan.ts';
import { removeTree } from './remove-tree.ts';
import { newRecord, type SandboxRecord, writeFirstRecord } from './sandbox-record.ts';
import type { StartedSandbox } from './start-sandbox.ts';

export interface Spare extends StartedSandbox {
  readonly paths: SandboxPaths;
  /** What was mounted for it: the host may have changed since. */
  readonly plan: MountPlan;
  setReferenced(referenced: boolean): void;
  discard(): Promise<void>;
}

/** What a spare sandbox can be taken for: an ephemeral one for one command, with nothing of its own. */
export function isPlain(spec: ExpectedSandbox): boolean {
  const hasLimits = Object.values(spec.limits ?? {}).some((limit) => limit !== undefined);
  return (
    spec.ephemeral &&
    spec.expectsOneCommand === true &&
    spec.network === 'none' &&
    (spec.image === undefined || spec.image === 'host') &&
    spec.contextId === undefined &&
    (spec.mounts ?? []).length === 0 &&
    !hasLimits
  );
}

/** `start` brings up the sandbox of a record in a directory, as it does for every other. */
export async function makeSpare(
  stateDir: string,
  start: (record: SandboxRecord, paths: SandboxPaths) => Promise<StartedSandbox & Pick<Spare, 'plan'>>,
): Promise<Spare> {
  const paths = pathsIn(`${stateDir}/spares/${draftName('spare', makerMark(), uniqueName())}`);
  mkdirSync(paths.dir, { recursive: true, mode: 0o700 });
  try {
    const plain = { name: '', labels: {}, kind: 'execution', network: 'none', ephemeral: true } as const;
    const started = await start(newRecord(plain, undefined, 0), paths);
    const discard = async (): Promise<void> => {
      started.setup.abandon(started.record.init?.pid);
      await started.setup.exited;
      await Promise.all([removeCgroups(started.record.cgroups, started.setup.isAlone), removeTree(paths.dir)]);
    };
    // It was let go of when it was started, and keeps nobody alive.
    return { ...started, paths, setReferenced: () => undefined, discard };
  } catch (cause) {
    await removeTree(paths.dir);
    throw cause;
  }
}

export function isAlive({ setup: { child } }: Spare): boolean {
  return !child.hasEnded;
}

/** Takes the record's name: its directory replaces the reserved one, which is empty. What is mounted inside goes along. */
export async function become(spare: Spare, record: SandboxRecord, { dir }: SandboxPaths): Promise<StartedSandbox> {
  const { init, holder, cgroups } = spare.record;
  const named = { ...record, maker: undefined, init, holder, cgroups };
  try {
    writeFirstRecord(spare.paths, named);
    renameSync(spare.paths.dir, dir);
  } catch (cause) {
    await spare.discard();
    throw cause;
  }
  return { record: named, shell: spare.shell, setup: spare.setup };
}
