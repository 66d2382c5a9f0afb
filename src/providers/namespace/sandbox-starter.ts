/** Starts recorded sandboxes: prepares their parts while blank namespaces come up, then joins the two. */
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import type { Clock } from '../../core/clock.ts';
import { type Life, makeBlank, type Setup } from './blank.ts';
import { BlankSupply } from './blank-supply.ts';
import { type BuildHost, buildSandbox } from './build-sandbox.ts';
import { cgroupName, findCgroupHost, limitCgroups, sweepCgroups } from './cgroup.ts';
import { sandboxPaths } from './layout.ts';
import { defaultLimits } from './limits.ts';
import type { PipeStock } from './pipe-stock.ts';
import type { Privileges } from './privileges.ts';
import { RootCache } from './root-cache.ts';
import { type SandboxRecord, writeRecord } from './sandbox-record.ts';
import { type FirstShell, startSandbox } from './start-sandbox.ts';
import { openUplink, type UplinkTool } from './uplink.ts';

export interface StartedSandbox {
  readonly record: SandboxRecord;
  readonly shell: FirstShell;
  readonly setup: Setup;
}

export interface StarterContext {
  readonly stateDir: string;
  readonly privileges: Privileges;
  readonly stock: PipeStock;
  readonly clock: Clock;
  /** The way to an open network; undefined = the best there is. */
  readonly uplink: UplinkTool | undefined;
}

const SWEEP_AFTER_MS = 5_000;

export class SandboxStarter {
  readonly #context: StarterContext;
  readonly #roots: RootCache;
  readonly #blanks: BlankSupply;
  #host: Promise<BuildHost> | undefined;

  constructor(context: StarterContext) {
    this.#context = context;
    this.#roots = new RootCache(context.stateDir, context.clock);
    this.#blanks = new BlankSupply(
      (onMapped) => makeBlank(context.privileges, async () => (await this.host()).cgroups, cgroupName(), onMapped),
      context.clock,
    );
  }

  host(): Promise<BuildHost> {
    return (this.#host ??= this.#lookAround());
  }

  /** Throws when any step fails; what is recorded by then is the caller's to destroy. */
  async start(
    record: SandboxRecord,
    life: Life,
    onProgress: (message: string) => void,
    signal: AbortSignal,
  ): Promise<StartedSandbox> {
    const { stateDir } = this.#context;
    const host = await this.host();
    const preparing = buildSandbox(host, this.#roots, record, sandboxPaths(stateDir, record.name), life, onProgress);
    const taking = this.#blanks.take();
    const [prepared, blank] = await Promise.all([preparing, taking]).catch(async (cause: unknown) => {
      // Whichever came through is not to be left behind by the other's failure.
      await Promise.allSettled([preparing, taking.then((unused) => unused.discard())]);
      throw cause;
    });
    const { init, holder, setup } = blank;
    let started: SandboxRecord = { ...record, init, holder };
    const confine = async (): Promise<void> => {
      const cgroups = await blank.cgroups;
      started = { ...started, cgroups };
      if (host.cgroups === undefined) return;
      await limitCgroups(host.cgroups, cgroups, record.limits, defaultLimits(totalmem()));
    };
    const begin = async (): Promise<void> => {
      await writeRecord(stateDir, started);
      if (record.network !== 'open') return;
      await openUplink({ name: record.name, init, holder }, this.#context.uplink, (uplink) => {
        started = { ...started, uplink };
        return writeRecord(stateDir, started);
      });
    };
    try {
      const shell = await startSandbox(blank, { life, prepared, confine, record: begin }, signal);
      this.#blanks.refill();
      return { record: started, shell, setup };
    } catch (cause) {
      await blank.discard();
      throw cause;
    }
  }

  /** What every sandbox of the default image needs, before anybody has asked for one. Resolves when that is under way. */
  async warm(): Promise<void> {
    await new Promise<void>((resolve) => this.#blanks.prepare(resolve));
    this.#roots.get(undefined, [], () => undefined).catch(() => undefined);
  }

  close(): Promise<void> {
    return this.#blanks.close();
  }

  async #lookAround(): Promise<BuildHost> {
    const { stateDir, stock, privileges, clock } = this.#context;
    const files = ['/proc/self/mountinfo', '/proc/self/cgroup'].map((path) => readFile(path, 'utf8').catch(() => ''));
    const [mountInfo = '', own = ''] = await Promise.all(files);
    const cgroups = await findCgroupHost(mountInfo, own);
    // Not now: whoever looks around is in a hurry to make a sandbox, and one run has nothing to sweep.
    if (cgroups !== undefined) clock.schedule(SWEEP_AFTER_MS, () => void sweepCgroups(cgroups), { ref: false });
    const { diskOwner, outerUid, movesRoot } = privileges;
    return { stateDir, stock, diskOwner, outerUid, cgroups, movesRoot };
  }
}
