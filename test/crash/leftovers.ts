/** What must not be there after recovery, and what must not be there after everything was destroyed. */
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ReapReport } from 'sublet';
import type { ProviderContext, ProviderModule } from 'sublet/provider';
import { readStore, type Row, type Where } from './read-store.ts';
import { shiftingClock } from './shifting-clock.ts';

/** How a provider is opened. */
type Access = Pick<ProviderContext, 'options' | 'secret'>;

const LAST_ROUNDS = 100;

/** With neighbours that live: everything on record agrees with what is there, and nothing of the dead still runs. */
export async function findUnrecovered(
  where: Where,
  providerId: string,
  report: ReapReport,
  access: Access = { options: {}, secret: () => undefined },
): Promise<readonly string[]> {
  const faults: string[] = [];
  const { rows, owners } = await readStore(where);
  const living = new Set(owners);
  for (const row of rows) {
    const isHeld = living.has(row.ownerId);
    const what = `${row.id} is ${row.state} (${row.cause})`;
    if (row.state === 'creating' || row.state === 'destroying') faults.push(what);
    if (row.ephemeral && !isHeld && isLive(row)) faults.push(`${what}, ephemeral and nobody’s`);
    // What somebody resumed by hand stays awake, and is written down as nobody's when its process leaves.
    const isKept = row.policy.onExit === 'keep' || row.cause === 'asked by hand' || row.ownerId === '';
    if (row.state === 'running' && !isHeld && !isKept) faults.push(`${what}, onExit ${row.policy.onExit}`);
  }
  const there = await listAtProvider(where.home, providerId, access);
  for (const { name, state } of rows.filter(isLive)) {
    const fact = there.get(name);
    if (fact === undefined) faults.push(`${name} is on record and not there`);
    // Frozen in fact and running on record is woken by its next use.
    else if (fact !== state && fact !== 'unknown' && state !== 'running')
      faults.push(`${name} is on record as ${state}, and is ${fact}`);
    there.delete(name);
  }
  for (const name of there.keys()) faults.push(`${name} is there and not on record`);
  const watched = report.verdicts.filter(({ action }) => action === 'watch' || action === 'mark-lost');
  faults.push(...watched.map(({ name, reason }) => `${name}: ${reason}`));
  return faults;
}

async function listAtProvider(home: string, id: string, access: Access): Promise<Map<string, string>> {
  const { provider: module } = (await import(`sublet/providers/${id}`)) as { readonly provider: ProviderModule };
  const log = { debug() {}, info() {}, warn() {} };
  const context = {
    stateDir: path.join(home, 'providers', id),
    log,
    clock: shiftingClock(),
    ...access,
  };
  const provider = await module.open(context);
  const found = new Map<string, string>();
  for await (const { ref, state } of provider.list({}, new AbortController().signal)) found.set(ref.name, state);
  await provider.close();
  return found;
}

/** After the last sandbox was destroyed. Called in a PID namespace of its own, so that every process seen is one of ours. */
export async function findLeftovers(
  where: Where,
): Promise<{ readonly faults: readonly string[]; readonly madeInAll: number }> {
  const { home } = where;
  const { rows, owners, integrity } = await readStore(where);
  const faults = [
    ...rows.filter(isLive).map(({ id, state }) => `row ${id} is ${state}`),
    ...owners.map((id) => `owner ${id} is on record`),
    ...(integrity === 'ok' ? [] : [`integrity_check: ${integrity}`]),
    ...(await leftProcessesInTheEnd()),
    ...(await leftMounts(home)),
    ...(await leftGroups(rows.map(({ name }) => name))),
    ...(await leftFiles(home)),
  ];
  return { faults, madeInAll: rows.length };
}

function isLive({ state }: Row): boolean {
  return state !== 'destroyed' && state !== 'lost';
}

/** A command's runner takes a moment to see that its sandbox is gone. */
async function leftProcessesInTheEnd(): Promise<readonly string[]> {
  for (let round = 0; round < LAST_ROUNDS && (await leftProcesses()).length > 0; round++) await delay(50);
  return leftProcesses();
}

/** All but this process, those that started it, and what has ended. */
async function leftProcesses(): Promise<readonly string[]> {
  const own = new Set<number>();
  for (let pid = process.pid; pid > 0; pid = (await statOf(pid))?.parent ?? 0) own.add(pid);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const left: string[] = [];
  for (const pid of pids) {
    const stat = await statOf(pid);
    // A compiler that this process started is its own affair.
    if (own.has(pid) || stat === undefined || stat.state === 'Z' || stat.parent === process.pid) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    left.push(`process ${pid} ${stat.state}: ${line.replaceAll('\0', ' ').slice(0, 200)}`);
  }
  return left;
}

async function statOf(pid: number): Promise<{ readonly state: string; readonly parent: number } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  const [state = '', parent] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return stat === undefined ? undefined : { state, parent: Number(parent) };
}

/** So that nothing is left even when something is wrong: what is frozen outlives its PID namespace. */
export async function thawAll(home: string): Promise<void> {
  const names = await readdir(path.join(home, 'providers/namespace/sandboxes')).catch(() => []);
  for (const root of await groupRoots())
    for (const name of names) await writeFile(path.join(root, name, 'freezer.state'), 'THAWED').catch(() => undefined);
}

async function leftMounts(home: string): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.filter((line) => line.includes(home)).map((line) => `mount ${line}`);
}

/** Groups are named after their maker's PID namespace, or after their sandbox. */
async function leftGroups(names: readonly string[]): Promise<readonly string[]> {
  const [, namespace = ''] = /\[(\d+)\]/.exec(await readlink('/proc/self/ns/pid')) ?? [];
  const groups = await Promise.all(
    (await groupRoots()).map(async (root) =>
      (await readdir(root).catch(() => [])).map((name) => path.join(root, name)),
    ),
  );
  return groups
    .flat()
    .filter((group) => path.basename(group).includes(`-${namespace}-`) || names.includes(path.basename(group)))
    .map((group) => `control group ${group}`);
}

async function groupRoots(): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.filter((line) => / - cgroup2? /.test(line)).map((line) => path.join(line.split(' ')[4] ?? '', 'sublet'));
}

/** What is kept on purpose: prepared roots, and pipes in stock. */
async function leftFiles(home: string): Promise<readonly string[]> {
  const state = path.join(home, 'providers/namespace');
  const [sandboxes = [], roots = [], images = [], spares = [], top = []] = await Promise.all(
    ['sandboxes', 'roots', 'images', 'spares', '.'].map((name) => readdir(path.join(state, name)).catch(() => [])),
  );
  const drafts = [...roots, ...images, ...spares].filter((name) => name.endsWith('.new'));
  const strange = top.filter((name) => !['sandboxes', 'roots', 'images', 'pipes', 'spares', 'volumes'].includes(name));
  const others = (await readdir(home)).filter(
    (name) => !/^(providers|sandboxes|sublet\.db(-wal|-shm)?|host-id)$/.test(name),
  );
  return [...sandboxes, ...drafts, ...strange, ...others].map((name) => `file ${name}`);
}
