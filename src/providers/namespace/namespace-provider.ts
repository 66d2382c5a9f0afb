/** Sandboxes of Linux namespaces on this machine. */
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import type { Socket } from 'node:net';
import { SubletError, toSubletError } from '../../core/errors.ts';
import type { NetworkLevel } from '../../core/network.ts';
import { isAtLeastAsTight } from '../../core/network.ts';
import type { Labels, Limits, SandboxMetrics } from '../../core/spec.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { AttachOptions, ListedSandbox, ProviderState, SandboxHandle, SandboxProvider, SandboxRef, SandboxSpec } from '../../provider/provider.ts';
import { createShellFiles } from '../../provider/posix/shell-files.ts';
import { type CgroupHost, findCgroupHost, hasMemoryLimit, makeCgroups, removeCgroups } from './cgroup.ts';
import { freeze, removeFreezer, thaw } from './freezer.ts';
import { openImage } from './image.ts';
import { DISK_DIRS, sandboxPaths, WORKDIR } from './layout.ts';
import { DEFAULT_PIDS, limitScript } from './limits.ts';
import { lockedFlagsFrom, mountTable } from './mount-table.ts';
import { NamespaceCommands } from './namespace-commands.ts';
import { CAPABILITIES } from './namespace-config.ts';
import { lostError } from './namespace-errors.ts';
import { currentPrivileges, type Privileges } from './privileges.ts';
import { isSameProcess } from './process-identity.ts';
import { removeTree } from './remove-tree.ts';
import type { ResidentShell } from './resident-shell.ts';
import { isRunning, readRecord, recordNames, reserve, type SandboxRecord, writeRecord } from './sandbox-record.ts';
import { prepareSkeleton } from './skeleton.ts';
import { readMountInfo, startSandbox } from './start-sandbox.ts';
import { closeUplink, openUplink, writeResolvConf } from './uplink.ts';
import { usageOf } from './usage.ts';
import { openVolume } from './volumes.ts';

export class NamespaceProvider implements SandboxProvider {
  readonly id = 'namespace';
  readonly capabilities: ReadonlySet<(typeof CAPABILITIES)[number]> = new Set(CAPABILITIES);
  readonly #context: ProviderContext;
  readonly #stateDir: string;
  readonly #privileges: Privileges = currentPrivileges();
  readonly #open = new Map<string, { readonly commands: NamespaceCommands; readonly lifeline: Socket | undefined }>();
  #cgroupHost: Promise<CgroupHost | undefined> | undefined;

  constructor(context: ProviderContext) {
    this.#context = context;
    this.#stateDir = context.stateDir;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    signal.throwIfAborted();
    if (!(await reserve(this.#stateDir, spec.name))) return this.#again(spec, signal);
    try {
      const record: SandboxRecord = {
        name: spec.name,
        labels: spec.labels,
        createdAt: this.#context.clock.now(),
        ephemeral: spec.ephemeral,
        image: spec.image,
        network: spec.network,
        limits: spec.limits ?? {},
        mounts: spec.mounts ?? [],
        contextId: spec.contextId,
        init: undefined,
        holder: undefined,
        uplink: undefined,
        cgroups: [],
        paused: false,
      };
      await writeRecord(this.#stateDir, record);
      await this.#makeDisk(spec.name);
      return await this.#start(record, spec.env ?? {}, spec.onProgress, signal);
    } catch (cause) {
      await this.destroy({ name: spec.name }, AbortSignal.timeout(10_000)).catch((error: unknown) => {
        this.#context.log.warn({ name: spec.name, error: String(error) }, 'remains of a failed create could not be removed');
      });
      throw toSubletError(cause, 'CREATE_FAILED', signal);
    }
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    signal.throwIfAborted();
    const record = await readRecord(this.#stateDir, ref.name);
    if (record === undefined) return undefined;
    const held = this.#open.get(ref.name);
    if (held !== undefined) return this.#handle(record, held.commands);
    return this.#handle(record, this.#commandsFor(record, options.env ?? {}));
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { dir } = sandboxPaths(this.#stateDir, ref.name);
    await this.#letGo(ref.name);
    const record = await readRecord(this.#stateDir, ref.name).catch(() => undefined);
    if (record !== undefined) {
      await this.#endProcesses(record);
      await removeFreezer(await this.#cgroups(), record);
    }
    await removeTree(dir);
  }

  async *list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    for (const name of await recordNames(this.#stateDir)) {
      signal.throwIfAborted();
      const record = await readRecord(this.#stateDir, name).catch(() => undefined);
      if (record === undefined || !Object.entries(filter).every(([key, value]) => record.labels[key] === value)) continue;
      yield { ref: { name }, labels: record.labels, state: await stateOf(record), createdAt: record.createdAt };
    }
  }

  async pause(ref: SandboxRef): Promise<void> {
    const record = await this.#running(ref);
    if (record.paused) return;
    // Waiting shells are not the agent's; they would be frozen into whatever process resumes.
    await this.#letGo(ref.name);
    await freeze(await this.#cgroups(), record);
    await writeRecord(this.#stateDir, { ...record, paused: true });
  }

  async resume(ref: SandboxRef): Promise<void> {
    const record = await this.#running(ref);
    await thaw(await this.#cgroups(), record);
    if (record.paused) await writeRecord(this.#stateDir, { ...record, paused: false });
  }

  async stop(ref: SandboxRef): Promise<void> {
    const record = await this.#known(ref);
    if (record.limits.diskBytes !== undefined) {
      throw new SubletError('UNSUPPORTED', 'A sandbox with a disk limit keeps its disk in memory, which a stop would lose.', { hint: 'Pause it instead.' });
    }
    await this.#letGo(ref.name);
    await this.#endProcesses(record);
    await removeFreezer(await this.#cgroups(), record);
    await writeRecord(this.#stateDir, { ...record, init: undefined, holder: undefined, uplink: undefined, cgroups: [], paused: false });
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    const record = await this.#known(ref);
    if (await isRunning(record)) return;
    await this.#endProcesses(record);
    const { channel } = sandboxPaths(this.#stateDir, ref.name);
    await removeTree(channel);
    await mkdir(channel, { mode: 0o755 });
    await this.#start({ ...record, paused: false }, options.env ?? {}, undefined, signal);
  }

  async setNetwork(ref: SandboxRef, level: NetworkLevel): Promise<void> {
    const record = await this.#known(ref);
    if (!isAtLeastAsTight(level, record.network)) {
      throw new SubletError('NETWORK_NOT_ENFORCEABLE', `The network of ${ref.name} is ${record.network} and cannot become ${level} again.`);
    }
    if (level === record.network) return;
    refuseAllowlist(level);
    await closeUplink(record.uplink);
    await writeRecord(this.#stateDir, { ...record, network: level, uplink: undefined });
  }

  async metrics(ref: SandboxRef): Promise<SandboxMetrics> {
    return usageOf(await this.#known(ref), sandboxPaths(this.#stateDir, ref.name).disk);
  }

  async close(): Promise<void> {
    for (const name of [...this.#open.keys()]) await this.#letGo(name);
  }

  /** Same name, same sandbox; one whose making was cut short is made again. */
  async #again(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    const handle = await this.attach({ name: spec.name }, signal, { env: spec.env });
    if (handle !== undefined && handle.state !== 'stopped') return handle;
    const record = await readRecord(this.#stateDir, spec.name);
    if (record === undefined || record.init === undefined) {
      await this.destroy({ name: spec.name }, signal);
      return this.create(spec, signal);
    }
    await this.start({ name: spec.name }, signal, { env: spec.env });
    return (await this.attach({ name: spec.name }, signal)) as SandboxHandle;
  }

  async #makeDisk(name: string): Promise<void> {
    const paths = sandboxPaths(this.#stateDir, name);
    // Searchable by the sandbox's id where that is another than ours.
    await mkdir(paths.disk, { mode: 0o755 });
    await mkdir(paths.channel, { mode: 0o755 });
    await Promise.all(
      DISK_DIRS.map(async (dir) => {
        const path = `${paths.disk}/${dir.name}`;
        await mkdir(path);
        if (dir.mode !== 0o755) await chmod(path, dir.mode);
        if (this.#privileges.diskOwner !== undefined) await chown(path, this.#privileges.diskOwner, this.#privileges.diskOwner);
      }),
    );
  }

  async #start(record: SandboxRecord, env: Readonly<Record<string, string>>, onProgress: SandboxSpec['onProgress'], signal: AbortSignal): Promise<SandboxHandle> {
    refuseAllowlist(record.network);
    const paths = sandboxPaths(this.#stateDir, record.name);
    const image = await openImage(this.#stateDir, record.image, onProgress ?? (() => undefined));
    const [skeleton, cgroups, mountInfo, volumeDir] = await Promise.all([
      prepareSkeleton(this.#stateDir, image, record.mounts.map((mount) => mount.target)),
      this.#makeCgroups(record),
      readMountInfo(),
      record.contextId === undefined ? undefined : openVolume(this.#stateDir, record.contextId, this.#privileges.diskOwner),
    ]);
    const resolvConf = record.network === 'open' ? await writeResolvConf(paths.dir) : undefined;
    const table = mountTable({
      skeleton,
      image,
      diskDir: paths.disk,
      channelDir: paths.channel,
      volumeDir,
      mounts: record.mounts,
      diskBytes: record.limits.diskBytes,
      resolvConf,
      lockedFlags: lockedFlagsFrom(mountInfo),
    });
    await writeFile(paths.mountTable, table);
    let started = { ...record, cgroups };
    const { resident, lifeline } = await startSandbox(
      {
        privileges: this.#privileges,
        mountTable: paths.mountTable,
        root: skeleton.root,
        channelDir: paths.channel,
        cgroups,
        limits: limitScript(record.limits, hasMemoryLimit(cgroups)),
        owned: record.ephemeral,
        onMade: async (init, holder) => {
          started = { ...started, init, holder };
          await writeRecord(this.#stateDir, started);
          if (record.network !== 'open') return;
          started = { ...started, uplink: await openUplink(init, holder) };
          await writeRecord(this.#stateDir, started);
        },
      },
      signal,
    );
    const commands = this.#commandsFor(started, env, resident, record.ephemeral ? lifeline : undefined);
    return this.#handle(started, commands);
  }

  async #makeCgroups(record: SandboxRecord): Promise<readonly string[]> {
    const host = await this.#cgroups();
    if (host === undefined) return [];
    return makeCgroups(host, record.name, record.limits, defaultLimits());
  }

  #cgroups(): Promise<CgroupHost | undefined> {
    return (this.#cgroupHost ??= Promise.all([readMountInfo(), readFile('/proc/self/cgroup', 'utf8').catch(() => '')]).then(([mounts, own]) => findCgroupHost(mounts, own)));
  }

  #commandsFor(record: SandboxRecord, env: Readonly<Record<string, string>>, resident?: ResidentShell, lifeline?: Socket): NamespaceCommands {
    const paths = sandboxPaths(this.#stateDir, record.name);
    const limits = limitScript(record.limits, hasMemoryLimit(record.cgroups));
    const commands = new NamespaceCommands({ record, paths, privileges: this.#privileges, limits, env, clock: this.#context.clock }, resident);
    this.#open.set(record.name, { commands, lifeline });
    return commands;
  }

  async #handle(record: SandboxRecord, commands: NamespaceCommands): Promise<SandboxHandle> {
    return {
      ref: { name: record.name },
      state: await stateOf(record),
      network: record.network,
      workdir: WORKDIR,
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), WORKDIR),
      close: () => this.#letGo(record.name),
    };
  }

  async #letGo(name: string): Promise<void> {
    const held = this.#open.get(name);
    this.#open.delete(name);
    await held?.commands.close();
  }

  /** The kernel ends every process of a PID namespace with its first one. */
  async #endProcesses(record: SandboxRecord): Promise<void> {
    const { init, holder } = record;
    if (init !== undefined && (await isSameProcess(init))) {
      process.kill(init.pid, 'SIGKILL');
      if (record.paused) await thaw(await this.#cgroups(), record);
    }
    for (const part of [init, holder]) {
      for (let attempt = 0; part !== undefined && (await isSameProcess(part)); attempt++) {
        if (attempt > 1_000) throw new SubletError('PROVIDER_UNAVAILABLE', `The processes of ${record.name} do not end.`, { hint: 'They may wait for a disk or network file system; try again.' });
        await new Promise((resolve) => setTimeout(resolve, attempt < 20 ? 1 : 10));
      }
    }
    await closeUplink(record.uplink);
    await removeCgroups(record.cgroups);
  }

  async #known(ref: SandboxRef): Promise<SandboxRecord> {
    const record = await readRecord(this.#stateDir, ref.name);
    if (record === undefined) throw new SubletError('SANDBOX_NOT_FOUND', `There is no sandbox ${ref.name} on this machine.`);
    return record;
  }

  async #running(ref: SandboxRef): Promise<SandboxRecord> {
    const record = await this.#known(ref);
    if (!(await isRunning(record))) throw lostError(ref.name);
    return record;
  }
}

/** A sandbox without limits of its own may not take the machine: half its memory, and a number of processes. */
function defaultLimits(): Limits {
  return { memoryBytes: Math.floor(totalmem() / 2), pids: DEFAULT_PIDS };
}

async function stateOf(record: SandboxRecord): Promise<ProviderState> {
  if (!(await isRunning(record))) return 'stopped';
  return record.paused ? 'paused' : 'running';
}

function refuseAllowlist(level: NetworkLevel): void {
  if (level !== 'allowlist') return;
  throw new SubletError('NETWORK_NOT_ENFORCEABLE', 'The namespace provider has no allow list: a network is none or open.', { hint: 'Use --network none, or a provider with network-allowlist (see `sublet providers`).' });
}
