/** What this host knows of one sandbox: a JSON file that is written whole or not at all. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { NetworkLevel } from '../../core/network.ts';
import type { Labels, Limits, Mount } from '../../core/spec.ts';
import { makeDirectories } from '../../provider/posix/make-directories.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { type SandboxPaths, sandboxPaths } from './layout.ts';
import { unreadableError } from './namespace-errors.ts';
import { isSameProcess, type ProcessIdentity } from './process-identity.ts';

/** A pair of devices; everything of it on the host carries this one's name. */
export interface Veth {
  readonly device: string;
}

/** What carries an open network: a process, or a pair of devices. */
export type Uplink = ProcessIdentity | Veth;

export interface SandboxRecord {
  readonly name: string;
  readonly labels: Labels;
  readonly createdAt: number;
  readonly ephemeral: boolean;
  readonly image: string | undefined;
  readonly network: NetworkLevel;
  /** The level it was made with, where that is no longer its own. */
  readonly tightenedFrom?: NetworkLevel | undefined;
  readonly limits: Limits;
  readonly mounts: readonly Mount[];
  readonly contextId: string | undefined;
  /** Who is making it: while that process lives and `init` is not set, others wait. */
  readonly maker: ProcessIdentity | undefined;
  /** The sandbox's first process as the host numbers it; undefined while it is being made or stopped. */
  readonly init: ProcessIdentity | undefined;
  /** The host process that holds the outer user namespace. */
  readonly holder: ProcessIdentity | undefined;
  /** There only while the network is open. */
  readonly uplink: Uplink | undefined;
  readonly cgroups: readonly string[];
}

export function newRecord(spec: SandboxSpec, maker: ProcessIdentity | undefined, now: number): SandboxRecord {
  return {
    name: spec.name,
    labels: spec.labels,
    createdAt: now,
    ephemeral: spec.ephemeral,
    image: spec.image,
    network: spec.network,
    limits: spec.limits ?? {},
    mounts: spec.mounts ?? [],
    contextId: spec.contextId,
    maker,
    ...NOT_STARTED,
  };
}

/** What a record says while no process of the sandbox runs. */
export const NOT_STARTED: Pick<SandboxRecord, 'init' | 'holder' | 'uplink' | 'cgroups'> = {
  init: undefined,
  holder: undefined,
  uplink: undefined,
  cgroups: [],
};

/** The record of a spare sandbox, which nobody reads before its directory takes its place. At once, as every write of one. */
export function writeFirstRecord({ record: path }: SandboxPaths, record: SandboxRecord): void {
  writeFileSync(path, JSON.stringify(record), { mode: 0o600, flag: 'wx' });
}

export function writeRecord(stateDir: string, record: SandboxRecord): void {
  const { record: path } = sandboxPaths(stateDir, record.name);
  const draft = `${path}.${randomUUID()}.new`;
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
  renameSync(draft, path);
}

/**
 * undefined when there is no such sandbox. A directory without a record is one whose making was cut short. A record that
 * cannot be read is PROVIDER_UNAVAILABLE: its processes may run, and nobody knows which they are.
 */
export async function readRecord(stateDir: string, name: string): Promise<SandboxRecord | undefined> {
  const { record: path } = sandboxPaths(stateDir, name);
  try {
    return JSON.parse(await readFile(path, 'utf8')) as SandboxRecord;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadableError(path, cause);
  }
}

export async function recordNames(stateDir: string): Promise<readonly string[]> {
  try {
    return await readdir(`${stateDir}/sandboxes`);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw cause;
  }
}

export async function isRunning(record: SandboxRecord): Promise<boolean> {
  return record.init !== undefined && isSameProcess(record.init);
}

/** Makes the directory that is the sandbox's intent on this host. False if it is there already. */
export function reserve(stateDir: string, name: string): boolean {
  const { dir } = sandboxPaths(stateDir, name);
  try {
    try {
      mkdirSync(dir, { mode: 0o700 });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
      makeDirectories(dirname(dir), 0o700);
      mkdirSync(dir, { mode: 0o700 });
    }
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw cause;
  }
}
