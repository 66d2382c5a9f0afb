/** A conversation's sandbox as its caller holds it. */
import type { AgentHandle, HeldLease, LeaseTerms, Session, SessionNotice } from '../core/api.ts';
import type { Commands } from '../core/commands.ts';
import { SubletError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import type { SandboxId } from '../core/ids.ts';
import type { MigrateOptions, MigrationReport } from '../core/migration.ts';
import type { NetworkLevel } from '../core/network.ts';
import type { SessionKey } from '../core/session-key.ts';
import type { SnapshotInfo } from '../core/snapshots.ts';
import { createAgentHandle } from './agent-handle.ts';
import { checkLevel, MIGRATE } from './call-rules.ts';
import { checkCall } from './check-call.ts';
import type { Engine } from './engine.ts';
import type { KeptLease } from './kept-lease.ts';
import { takeLease } from './kept-lease.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { migrateSession } from './migration/migrate-session.ts';
import type { SandboxHolder } from './sandbox-holder.ts';
import { migratedNotice } from './session-wants.ts';
import { takeSnapshot } from './snapshots.ts';

/** What all handles on one key's sandbox in this process share. */
export interface Binding {
  readonly key: SessionKey;
  readonly holder: SandboxHolder;
  network: NetworkLevel;
}

/** What a handle asks of the sessions it came from. */
export interface SessionKeeper {
  tighten(binding: Binding, level: NetworkLevel, reason: string): Promise<readonly SessionNotice[]>;
  released(binding: Binding): Promise<void>;
}

export interface SessionFacts {
  readonly created: boolean;
  readonly notices: readonly SessionNotice[];
  /** Variables of this caller that the sandbox does not have. */
  readonly env: Readonly<Record<string, string>> | undefined;
}

export class SessionHandle implements Session {
  readonly created: boolean;
  readonly agent: AgentHandle;
  readonly #engine: Engine;
  readonly #binding: Binding;
  readonly #keeper: SessionKeeper;
  readonly #notices: SessionNotice[];
  #lease: KeptLease | undefined;
  #terms: LeaseTerms = {};
  #released: Promise<void> | undefined;

  constructor(engine: Engine, binding: Binding, keeper: SessionKeeper, facts: SessionFacts) {
    this.created = facts.created;
    this.#engine = engine;
    this.#binding = binding;
    this.#keeper = keeper;
    this.#notices = [...facts.notices];
    const live = (): Promise<LiveSandbox> => {
      this.#assertHeld();
      return binding.holder.awake(this.#lease);
    };
    const ends = (): AbortSignal | undefined => this.#lease?.lost;
    const tracking = { id: () => this.sandboxId, live, now: () => engine.now(), ends, env: facts.env };
    this.agent = createAgentHandle(tracking, engine.ports.clock);
  }

  get key(): SessionKey {
    return this.#binding.key;
  }

  get sandboxId(): SandboxId {
    return this.#binding.holder.live.id;
  }

  get network(): NetworkLevel {
    return this.#binding.network;
  }

  get notices(): readonly SessionNotice[] {
    return this.#notices;
  }

  get lease(): HeldLease | undefined {
    return this.#lease;
  }

  /** From now on nobody else uses its sandbox. LEASE_HELD when somebody does. */
  async hold(terms: LeaseTerms): Promise<void> {
    this.#terms = terms;
    this.#lease = await takeLease(this.#engine, this.#binding.holder.live.record, terms);
  }

  get commands(): Commands {
    return this.agent.commands;
  }

  get files(): Files {
    return this.agent.files;
  }

  runCode: AgentHandle['runCode'] = (...call) => this.agent.runCode(...call);

  shell: AgentHandle['shell'] = (...call) => this.agent.shell(...call);

  markPrivate(reason: string): Promise<void> {
    return this.setNetwork('none', reason);
  }

  async setNetwork(level: NetworkLevel, reason: string): Promise<void> {
    checkLevel(level);
    this.#assertHeld();
    this.#lease?.assertKept();
    this.#notices.push(...(await this.#keeper.tighten(this.#binding, level, reason)));
    // The right was to the sandbox that has been replaced.
    if (this.#lease === undefined || this.#lease.sandboxId === this.sandboxId) return;
    await this.#lease.release('its sandbox was replaced');
    await this.hold(this.#terms);
  }

  async snapshot(): Promise<SnapshotInfo> {
    this.#assertHeld();
    return takeSnapshot(this.#engine, await this.#binding.holder.awake(this.#lease), 'asked by the session');
  }

  async migrate(options: MigrateOptions): Promise<MigrationReport> {
    checkCall('migrate', options, MIGRATE);
    this.#assertHeld();
    const { holder } = this.#binding;
    const live = await holder.awake(this.#lease);
    const { report, live: moved } = await migrateSession(
      this.#engine,
      { live, wasPaused: false, lease: this.#lease },
      options,
    );
    if (moved === undefined) return report;
    // All handles on this key in this process go along, as they do when a tighter network needs another sandbox.
    holder.live = moved;
    this.#notices.push(migratedNotice(report, this.#engine.now()));
    if (this.#lease !== undefined) await this.hold(this.#terms);
    return report;
  }

  release(): Promise<void> {
    this.#released ??= this.#letGo();
    return this.#released;
  }

  async #letGo(): Promise<void> {
    await this.#lease?.release('released by its holder');
    await this.#keeper.released(this.#binding);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  #assertHeld(): void {
    if (this.#released === undefined) return;
    throw new SubletError('CLOSED', `This handle on session ${this.#binding.key} was released.`, {
      hint: 'Ask for the session again: its sandbox is still there.',
    });
  }
}
