/**
 * The real sandboxes behind a loopback server: what a service has in its data centre. Ids are the service's own; commands
 * and files are those of the provider underneath, and so are its pauses.
 */
import { randomUUID } from 'node:crypto';
import { SubletError } from '../../core/errors.ts';
import type { NetworkLevel } from '../../core/network.ts';
import type { Labels, SandboxMetrics } from '../../core/spec.ts';
import type { SandboxHandle, SandboxProvider } from '../../provider/provider.ts';

export type BackingState = 'running' | 'paused' | 'stopped' | 'deleting';

export interface BackingSandbox {
  readonly id: string;
  /** The service's name for it, where it has names. */
  readonly name: string | undefined;
  readonly labels: Labels;
  readonly network: NetworkLevel;
  readonly createdAt: number;
  readonly state: BackingState;
  /** Whatever else the protocol keeps: time-outs, templates, what was asked for. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly handle: SandboxHandle;
}

export interface NewBackingSandbox {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly labels?: Labels | undefined;
  readonly network?: NetworkLevel | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** A volume of the provider underneath, at its working directory. */
  readonly contextId?: string | undefined;
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
}

export interface BackingQuery {
  readonly labels?: Labels | undefined;
  readonly states?: readonly BackingState[] | undefined;
  /** Where the last page ended. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

type Entry = { -readonly [Field in keyof BackingSandbox]: BackingSandbox[Field] };

export class BackingSandboxes {
  /** What the service gives at most in one page, whatever is asked for. */
  pageSize = 100;
  /** A removal is begun and not finished until it is set to false. */
  isDeletingStuck = false;
  readonly #provider: SandboxProvider;
  readonly #entries = new Map<string, Entry>();

  constructor(provider: SandboxProvider) {
    this.#provider = provider;
  }

  get size(): number {
    return this.#entries.size;
  }

  async create(wanted: NewBackingSandbox): Promise<BackingSandbox> {
    const id = wanted.id ?? randomUUID();
    const network = wanted.network ?? (this.#provider.capabilities.has('network-none') ? 'none' : 'open');
    const handle = await this.#provider.create(
      {
        name: nameOf(id),
        labels: {},
        kind: 'execution',
        network,
        env: wanted.env,
        contextId: wanted.contextId,
        ephemeral: false,
      },
      new AbortController().signal,
    );
    const entry: Entry = {
      id,
      name: wanted.name,
      labels: wanted.labels ?? {},
      network,
      createdAt: Date.now(),
      state: 'running',
      facts: wanted.facts ?? {},
      handle,
    };
    this.#entries.set(id, entry);
    return entry;
  }

  get(id: string): BackingSandbox | undefined {
    return this.#entries.get(id);
  }

  all(): readonly BackingSandbox[] {
    return [...this.#entries.values()];
  }

  /** In the order they were made. `next` is where the following page begins. */
  list(query: BackingQuery = {}): { readonly sandboxes: readonly BackingSandbox[]; readonly next: string | undefined } {
    const wanted = this.all().filter(
      ({ labels, state }) =>
        Object.entries(query.labels ?? {}).every(([name, value]) => labels[name] === value) &&
        (query.states === undefined || query.states.includes(state)),
    );
    const start = query.after === undefined ? 0 : wanted.findIndex(({ id }) => id === query.after) + 1;
    const sandboxes = wanted.slice(start, start + Math.min(query.limit ?? this.pageSize, this.pageSize));
    const isLast = start + sandboxes.length >= wanted.length;
    return { sandboxes, next: isLast ? undefined : sandboxes.at(-1)?.id };
  }

  update(id: string, change: { readonly facts?: BackingSandbox['facts']; readonly labels?: Labels }): void {
    const entry = this.#require(id);
    entry.facts = { ...entry.facts, ...change.facts };
    entry.labels = change.labels ?? entry.labels;
  }

  async pause(id: string): Promise<void> {
    await this.#move(id, 'paused', (entry, signal) => this.#provider.pause?.(entry.handle.ref, signal));
  }

  async resume(id: string): Promise<void> {
    await this.#move(id, 'running', (entry, signal) => this.#provider.resume?.(entry.handle.ref, signal));
  }

  async stop(id: string): Promise<void> {
    await this.#move(id, 'stopped', (entry, signal) => this.#provider.stop?.(entry.handle.ref, signal));
  }

  async start(id: string): Promise<void> {
    await this.#move(id, 'running', async (entry, signal) => {
      await this.#provider.start?.(entry.handle.ref, signal);
      entry.handle = (await this.#provider.attach(entry.handle.ref, signal)) ?? entry.handle;
    });
  }

  async setNetwork(id: string, level: NetworkLevel): Promise<void> {
    const entry = this.#require(id);
    await this.#provider.setNetwork?.(entry.handle.ref, level, new AbortController().signal);
    entry.network = level;
  }

  async metrics(id: string): Promise<SandboxMetrics> {
    return (await this.#provider.metrics?.(this.#require(id).handle.ref, new AbortController().signal)) ?? {};
  }

  /** False when there is none. */
  async remove(id: string): Promise<boolean> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    entry.state = 'deleting';
    if (this.isDeletingStuck) return true;
    await entry.handle.close();
    await this.#provider.destroy(entry.handle.ref, new AbortController().signal);
    this.#entries.delete(id);
    return true;
  }

  /** Ends every sandbox; the provider stays its owner's. */
  async close(): Promise<void> {
    this.isDeletingStuck = false;
    await Promise.all([...this.#entries.keys()].map((id) => this.remove(id)));
  }

  async #move(
    id: string,
    state: BackingState,
    move: (entry: Entry, signal: AbortSignal) => Promise<void> | undefined,
  ): Promise<void> {
    const entry = this.#require(id);
    await move(entry, new AbortController().signal);
    entry.state = state;
  }

  #require(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new SubletError('SANDBOX_NOT_FOUND', `There is no sandbox ${id}.`);
    return entry;
  }
}

function nameOf(id: string): string {
  return `backing-${id.replaceAll(/[^A-Za-z0-9]/g, '').slice(0, 40)}`;
}
