/** What a sandbox uses now, read from the kernel. */
import { readFile, statfs } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import type { SandboxMetrics } from '../../core/spec.ts';
import { cgroupUsage } from './cgroup.ts';
import { processesOf } from './sandbox-processes.ts';
import { DEFAULT_PIDS } from './limits.ts';
import { isSameProcess } from './process-identity.ts';
import type { SandboxRecord } from './sandbox-record.ts';

const TICK_MS = 10;

export async function usageOf(record: SandboxRecord, diskDir: string): Promise<SandboxMetrics> {
  const pids = await processesOf(record);
  const each = await Promise.all(pids.map(processUsage));
  const sum = (field: 'cpuMs' | 'memoryBytes'): number => each.reduce((total, usage) => total + usage[field], 0);
  const group = await cgroupUsage(record.cgroups);
  return {
    cpuMs: sum('cpuMs'),
    memoryBytes: group.memoryBytes ?? sum('memoryBytes'),
    memoryLimitBytes: record.limits.memoryBytes ?? group.memoryLimitBytes,
    diskBytes: record.limits.diskBytes === undefined ? await directorySize(diskDir) : await mountedSize(record),
    diskLimitBytes: record.limits.diskBytes,
    processes: pids.length,
    processLimit: record.limits.pids ?? DEFAULT_PIDS,
  };
}

async function processUsage(pid: number): Promise<{ readonly cpuMs: number; readonly memoryBytes: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((total, index) => total + (Number(fields[index]) || 0), 0);
  return { cpuMs: ticks * TICK_MS, memoryBytes: (Number(fields[21]) || 0) * 4096 };
}

/** The work directory's file system as the first process sees it: it is in memory and of a fixed size. */
async function mountedSize({ init }: SandboxRecord): Promise<number | undefined> {
  const info = await statfs(`/proc/${init?.pid}/root/workspace`).catch(() => undefined);
  return info === undefined || init === undefined || !isSameProcess(init)
    ? undefined
    : (info.blocks - info.bfree) * info.bsize;
}

function directorySize(dir: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const child = spawn('du', ['-s', '-k', '--', dir], { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.on('error', () => resolve(undefined));
    child.on('close', () => resolve(Number.parseInt(text, 10) * 1024 || 0));
  });
}
