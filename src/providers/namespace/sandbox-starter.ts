/** Starts recorded sandboxes: prepares their parts while blank namespaces come up, then joins the two. */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import type { Clock } from '../../core/clock.ts';
import { type Blank, makeBlank } from './blank.ts';
import { type BuildHost, buildSandbox } from './build-sandbox.ts';
import { doorsOf, limitCgroups, sweepCgroups } from './cgroup.ts';
import { findCgroupHost } from './cgroup-host.ts';
import { type SandboxPaths, sandboxPaths, uniqueName } from './layout.ts';
import { defaultLimits } from './limits.ts';
import { planMounts } from './mount-plan.ts';
import type { PipeStock } from './pipe-stock.ts';
import type { Privileges } from './privileges.ts';
import { RootCache } from './root-cache.ts';
import { type SandboxRecord, writeRecord } from './sandbox-record.ts';
import type { Life } from './setup.ts';
import { isAlive, makeSpare, type Spare } from './spare.ts';
import { startSandbox, type StartedSandbox } from './start-sandbox.ts';
import { Supply } from './supply.ts';
import { openUplink, type UplinkTool } from './uplink.ts';

export interface StarterContext {
  readonly stateDir: string;
  readonly privileges: Privileges;
  readonly stock: PipeStock;
  readonly clock: Clock;
  /** The way to an open network; undefined = the best there is. */
  readonly uplink: UplinkTool | undefined;
}

const SWEEP_AFTER_MS = 5_000;

/** One start: whose, where, how long it lives, and on which namespaces. */
interface Start {
  readonly record: SandboxRecord;
  readonly paths: SandboxPaths;
  readonly life: Life;
  readonly taking: Promise<Blank>;
  readonly onProgress: (message: string) => void;
  /** Puts what is known of it where the next process finds it. */
  readonly keep: (record: SandboxRecord) => void;
  /** Its processes know what to become, and need nobody to get there. */
  readonly onTold?: (() => void) | undefined;
}

export class SandboxStarter {
  readonly #context: StarterContext;
  readonly #roots: RootCache;
  readonly #blanks: Supply<Blank>;
  readonly #spares: Supply<Spare>;
  #host: Promise<BuildHost> | undefined;

  constructor(context: StarterContext) {
    this.#context = context;
    this.#roots = new RootCache(context.stateDir, context.clock);
    this.#blanks = new Supply(() => this.#makeBlank(), context.clock);
    this.#spares = new Supply((onTold) => this.#makeSpare(onTold), context.clock);
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
    const taking = this.#blanks.take().then((blank) => blank ?? this.#makeBlank());
    const keep = (known: SandboxRecord): void => writeRecord(stateDir, known);
    const paths = sandboxPaths(stateDir, record.name);
    return this.#assemble({ record, paths, life, taking, onProgress, keep }, signal);
  }

  /** One that was made ahead and is as one made now would be; undefined when there is none. */
  async takeSpare(): Promise<Spare | undefined> {
    const spare = await this.#spares.take();
    if (spare === undefined) return undefined;
    if (isAlive(spare) && (await this.#isAsNow(spare))) return spare;
    await spare.discard();
    return undefined;
  }

  /** What every sandbox of the default image needs, before anybody has asked for one. Resolves when that is under way. */
  async warm(isPlain: boolean): Promise<void> {
    await new Promise<void>((resolve) => (isPlain ? this.#spares : this.#blanks).prepare(resolve));
    this.#roots.get(undefined, [], () => undefined).catch(() => undefined);
  }

  /** A sandbox is up, and another of its kind may follow. */
  refill(isPlain: boolean): void {
    (isPlain ? this.#spares : this.#blanks).refill();
  }

  async close(): Promise<void> {
    await Promise.all([this.#blanks.close(), this.#spares.close()]);
  }

  #makeBlank(): Promise<Blank> {
    return makeBlank(this.#context.privileges, async () => (await this.host()).cgroups, uniqueName());
  }

  #makeSpare(onTold?: () => void): Promise<Spare> {
    // At once: it takes longer than the rest of the way to a sandbox.
    const taking = this.#makeBlank();
    taking.catch(() => undefined);
    const never = new AbortController().signal;
    // It ends with this process, so that nobody else has to find it.
    const [life, onProgress, keep] = ['once', () => undefined, () => undefined] as const;
    return makeSpare(this.#context.stateDir, (record, paths) =>
      this.#assemble({ record, paths, life, taking, onProgress, keep, onTold }, never),
    );
  }

  /** Joins what a sandbox needs on the host with the namespaces it will run in. */
  async #assemble(start: Start, signal: AbortSignal): Promise<StartedSandbox & Pick<Spare, 'plan'>> {
    const { record, paths, life, taking, onProgress, keep, onTold } = start;
    const host = await this.host();
    const preparing = buildSandbox(host, this.#roots, record, paths, life, onProgress);
    const [prepared, blank] = await Promise.all([preparing, taking]).catch(async (cause: unknown) => {
      // Whichever came through is not to be left behind by the other's failure.
      await Promise.allSettled([preparing, taking.then((unused) => unused.discard())]);
      throw cause;
    });
    const { init, holder, setup } = blank;
    let started: SandboxRecord = { ...record, init, holder };
    const confine = async (): Promise<void> => {
      const cgroups = await blank.cgroups.joined;
      started = { ...started, cgroups };
      if (host.cgroups === undefined) return;
      limitCgroups(host.cgroups, cgroups, record.limits, defaultLimits(totalmem()));
    };
    const begin = async (): Promise<void> => {
      keep(started);
      if (record.network !== 'open') return;
      await openUplink({ name: record.name, init, holder }, this.#context.uplink, (uplink) => {
        started = { ...started, uplink };
        keep(started);
      });
    };
    try {
      const doors = doorsOf(host.cgroups, await blank.cgroups.made);
      const { clock } = this.#context;
      const plan = { life, prepared, doors, clock, confine, record: begin, onTold };
      const shell = await startSandbox(blank, plan, signal);
      return { record: started, shell, setup, plan: prepared.plan };
    } catch (cause) {
      const { orMemoryKill } = await import('./memory-kill.ts');
      const why = await orMemoryKill(started, 'CREATE_FAILED', cause);
      await blank.discard();
      throw why;
    }
  }

  async #isAsNow({ plan, record, paths }: Spare): Promise<boolean> {
    try {
      const { root } = await this.#roots.get(record.image, record.mounts, () => undefined);
      if (plan.root === root && plan.mountInfo === readProc('/proc/self/mountinfo')) return true;
      return plan.table === (await planMounts(await this.host(), this.#roots, record, paths, () => undefined)).table;
    } catch {
      return false;
    }
  }

  async #lookAround(): Promise<BuildHost> {
    const { stateDir, stock, privileges, clock } = this.#context;
    const cgroups = await findCgroupHost(readProc('/proc/self/mountinfo'), readProc('/proc/self/cgroup'));
    // Not now: whoever looks around is in a hurry to make a sandbox, and one run has nothing to sweep.
    if (cgroups !== undefined) {
      const sweep = (): void => void sweepCgroups(cgroups).catch(() => undefined);
      clock.schedule(SWEEP_AFTER_MS, sweep, { ref: false });
    }
    const { diskOwner, outerUid, movesRoot } = privileges;
    return { stateDir, stock, diskOwner, outerUid, cgroups, movesRoot };
  }
}

function readProc(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
