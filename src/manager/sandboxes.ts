/** Management of sandboxes by id. */
import type { AgentHandle, SandboxDetails, SandboxFilter, SandboxInfo, Sandboxes } from '../core/api.ts';
import { SubletError } from '../core/errors.ts';
import type { MigrateOptions, MigrationReport } from '../core/migration.ts';
import type { SnapshotInfo } from '../core/snapshots.ts';
import type { SandboxMetrics } from '../core/spec.ts';
import { isLive, LIVE_STATES } from '../core/states.ts';
import type { SandboxRecord } from '../store/records.ts';
import { createAgentHandle } from './agent-handle.ts';
import { isAtRest } from './awake-sandboxes.ts';
import { MIGRATE } from './call-rules.ts';
import { requireCapability } from './check-capabilities.ts';
import { checkCall } from './check-call.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { findSandbox } from './find-sandbox.ts';
import { migrateSession } from './migration/migrate-session.ts';
import { pauseSandbox, stopSandbox } from './move-sandbox.ts';
import { openSandbox } from './open-sandbox.ts';
import { callProvider } from './provider-call.ts';
import { SandboxHolder } from './sandbox-holder.ts';
import { readDetails } from './sandbox-details.ts';
import { takeSnapshot } from './snapshots.ts';
import { toSandboxInfo } from './to-sandbox-info.ts';

const BY_HAND = 'asked by hand';

export class SandboxManagement implements Sandboxes {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async list(filter: SandboxFilter = {}): Promise<readonly SandboxInfo[]> {
    const { provider, sessionKey, limit } = filter;
    const states = filter.states ?? (filter.all === true ? undefined : LIVE_STATES);
    const records = await this.#engine.ports.store.findSandboxes({ states, provider, sessionKey, limit });
    const abandoned = await this.#abandoned(records);
    return records.map((record) =>
      abandoned.has(record) ? { ...this.#info(record), ownerDied: true } : this.#info(record),
    );
  }

  async get(idOrPrefix: string): Promise<SandboxInfo> {
    return this.#info(await this.#find(idOrPrefix));
  }

  async inspect(idOrPrefix: string): Promise<SandboxDetails> {
    const record = await this.#find(idOrPrefix);
    return { ...this.#info(record), ...(await readDetails(this.#engine, record)) };
  }

  async open(idOrPrefix: string): Promise<AgentHandle> {
    const engine = this.#engine;
    engine.assertOpen();
    const holder = new SandboxHolder(engine, await openSandbox(engine, await this.#find(idOrPrefix), 'opened'));
    holder.live.active(engine.now());
    return createAgentHandle(
      { id: () => holder.live.id, live: () => holder.awake(), now: () => engine.now() },
      engine.ports.clock,
    );
  }

  pause(idOrPrefix: string, cause: string = BY_HAND): Promise<SandboxInfo> {
    return this.#change(idOrPrefix, (record) => pauseSandbox(this.#engine, record, cause));
  }

  resume(idOrPrefix: string, cause: string = BY_HAND): Promise<SandboxInfo> {
    return this.#change(idOrPrefix, async (record) => {
      (await openSandbox(this.#engine, record, cause)).isKept = true;
      return this.#engine.ports.store.getSandbox(record.id);
    });
  }

  stop(idOrPrefix: string, cause: string = BY_HAND): Promise<SandboxInfo> {
    return this.#change(idOrPrefix, (record) => stopSandbox(this.#engine, record, cause));
  }

  destroy(idOrPrefix: string, cause: string = BY_HAND): Promise<SandboxInfo> {
    return this.#change(idOrPrefix, (record) => destroySandbox(this.#engine, record, cause));
  }

  async snapshot(idOrPrefix: string, cause: string = BY_HAND): Promise<SnapshotInfo> {
    const engine = this.#engine;
    engine.assertOpen();
    return takeSnapshot(engine, await openSandbox(engine, await this.#find(idOrPrefix), 'for a snapshot'), cause);
  }

  async migrate(idOrPrefix: string, options: MigrateOptions): Promise<MigrationReport> {
    const engine = this.#engine;
    checkCall('migrate', options, MIGRATE);
    engine.assertOpen();
    const record = await this.#find(idOrPrefix);
    const live = await openSandbox(engine, record, 'to be migrated');
    const source = { live, wasPaused: record.state === 'paused', lease: undefined };
    return (await migrateSession(engine, source, options)).report;
  }

  async metrics(idOrPrefix: string): Promise<SandboxMetrics> {
    const record = await this.#find(idOrPrefix);
    requireCapability(await this.#engine.ports.provider(record.provider, record.profile), 'metrics');
    return callProvider(
      this.#engine,
      record,
      'metrics',
      async (provider, ref, signal) => (await provider.metrics?.(ref, signal)) ?? {},
    );
  }

  /** What is on record as it was when its process died. What rests goes on resting. */
  async #abandoned(records: readonly SandboxRecord[]): Promise<ReadonlySet<SandboxRecord>> {
    const { owners, ownerId } = this.#engine;
    const others = records.filter((record) => isLive(record.state) && !isAtRest(record) && record.ownerId !== ownerId);
    if (others.length === 0) return new Set();
    const census = await owners.census();
    return new Set(others.filter((record) => census.of(record.ownerId) === 'dead'));
  }

  /** undefined from `change` means that the row moved in between. */
  async #change(
    idOrPrefix: string,
    change: (record: SandboxRecord) => Promise<SandboxRecord | undefined>,
  ): Promise<SandboxInfo> {
    this.#engine.assertOpen();
    const record = await this.#find(idOrPrefix);
    const changed = await change(record);
    if (changed !== undefined) return this.#info(changed);
    throw new SubletError('STATE_CONFLICT', `Sandbox ${record.id} was ${record.state} and changed just now.`, {
      details: { sandboxId: record.id },
      hint: 'Look at it again and repeat the call if it is still wanted.',
    });
  }

  #find(idOrPrefix: string): Promise<SandboxRecord> {
    return findSandbox(this.#engine.ports.store, idOrPrefix);
  }

  #info(record: SandboxRecord): SandboxInfo {
    return toSandboxInfo(record, this.#engine.lives.get(record.id));
  }
}
