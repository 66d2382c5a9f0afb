/** What this process holds of sandboxes: shells that wait inside, and the ends of pipes. */
import type { Clock } from '../../core/clock.ts';
import { beginToEnd } from './end-sandbox.ts';
import type { Setup } from './setup.ts';
import { sandboxPaths } from './layout.ts';
import { NamespaceCommands } from './namespace-commands.ts';
import type { PipeStock } from './pipe-stock.ts';
import type { Privileges } from './privileges.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import type { StartedSandbox } from './start-sandbox.ts';

export interface Held {
  readonly commands: NamespaceCommands;
  /** As it was when this process last started or found it. */
  readonly record: SandboxRecord;
  /** Of a sandbox that this process started: it holds an owned one alive and tells when it has ended. */
  readonly setup: Setup | undefined;
}

export interface HoldingContext {
  readonly stateDir: string;
  readonly privileges: Privileges;
  readonly stock: PipeStock;
  readonly clock: Clock;
}

export class HeldSandboxes {
  readonly #context: HoldingContext;
  readonly #held = new Map<string, Held>();

  constructor(context: HoldingContext) {
    this.#context = context;
  }

  get(name: string): Held | undefined {
    return this.#held.get(name);
  }

  /** Those of the processes that are recorded: another process may have stopped and started it since. */
  commandsOf(record: SandboxRecord): NamespaceCommands {
    const held = this.#held.get(record.name);
    const [is, was] = [record.init, held?.record.init];
    const isSame = is?.pid === was?.pid && is?.startTicks === was?.startTicks;
    return held !== undefined && isSame ? held.commands : this.hold(record, {});
  }

  hold(record: SandboxRecord, env: Readonly<Record<string, string>>, made?: StartedSandbox): NamespaceCommands {
    const { stateDir, ...shared } = this.#context;
    const commands = new NamespaceCommands(
      { ...shared, record, paths: sandboxPaths(stateDir, record.name), env },
      made?.shell,
    );
    this.#held.set(record.name, { commands, record, setup: made?.setup });
    return commands;
  }

  /** Its processes begin to end: only what this process made for one purpose, because nobody else can be in it. */
  retire(name: string): void {
    const held = this.#held.get(name);
    if (held?.record.ephemeral === true) beginToEnd(held.setup, held.record.init);
  }

  async letGo(name: string): Promise<void> {
    const held = this.#held.get(name);
    this.#held.delete(name);
    await held?.commands.close();
  }

  async letAllGo(): Promise<void> {
    for (const name of [...this.#held.keys()]) await this.letGo(name);
  }
}

/** What is on record of an ephemeral one that this process made: nobody else writes that, nor this one while it has no network. */
export function ownRecord(held: Held | undefined): SandboxRecord | undefined {
  if (held?.setup === undefined || !held.record.ephemeral || held.record.network !== 'none') return undefined;
  return held.record;
}
