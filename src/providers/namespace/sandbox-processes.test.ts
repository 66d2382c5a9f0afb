import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { makeBlank } from './blank.ts';
import { currentPrivileges } from './privileges.ts';
import { identify, type ProcessIdentity } from './process-identity.ts';
import { livingProcessesOf } from './sandbox-processes.ts';
import { newRecord, type SandboxRecord } from './sandbox-record.ts';

const usable = await requirement('namespace');

function recordOf(init: ProcessIdentity | undefined): SandboxRecord {
  const spec = { name: 'box', labels: {}, kind: 'execution', network: 'none', ephemeral: true } as const;
  return { ...newRecord(spec, undefined, 0), init };
}

describe.runIf(usable)('the processes of a sandbox', () => {
  it('are those beside its first one, and nobody’s when another has its number', async () => {
    const blank = await makeBlank(currentPrivileges(), async () => undefined, 'unused');
    try {
      expect(await livingProcessesOf(recordOf(blank.init))).toEqual([blank.init.pid]);
      const earlier = { ...blank.init, startTicks: blank.init.startTicks - 1 };
      expect(await livingProcessesOf(recordOf(earlier))).toEqual([]);
    } finally {
      await blank.discard();
    }
  });

  it('are never those of the host', async () => {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    await once(child, 'spawn');
    expect(await livingProcessesOf(recordOf(identify(child.pid ?? 0)))).toEqual([]);
    child.kill('SIGKILL');
  });
});
