import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { enterLine } from './enter-line.ts';
import { currentPrivileges } from './privileges.ts';
import { identifySelf } from './process-identity.ts';
import { newRecord } from './sandbox-record.ts';

/** Directories that stand for the kernel's groups. */
let root = '';
beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'sublet-enter-'))));
afterEach(() => rm(root, { recursive: true, force: true }));

describe('whoever enters a sandbox later', () => {
  it.each([
    ['is bounded in memory by itself where its groups do not', ['pids.max'], true],
    ['is bounded by the group where version 1 has one', ['memory.limit_in_bytes'], false],
    ['is bounded by the group where version 2 has the controller', ['pids.max', 'memory.max'], false],
  ])('%s', async (_, files, isBoundedAlone) => {
    const group = join(root, 'group');
    await mkdir(group);
    for (const file of files) await writeFile(join(group, file), 'max');
    const limits = { memoryBytes: 1024 * 1024 };
    const spec = { name: 'box', labels: {}, kind: 'execution', network: 'none', ephemeral: true, limits } as const;
    const [init, holder] = [identifySelf(), identifySelf()];
    const record = { ...newRecord(spec, undefined, 0), init, holder, cgroups: [group] };
    expect(enterLine(currentPrivileges(), record).some((word) => word.includes('ulimit -d 1024'))).toBe(isBoundedAlone);
  });
});
