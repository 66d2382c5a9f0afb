/** What the account remembers of its sandboxes, those that are over among them. */
import { GRPC, GrpcRefusal } from './grpc-server.fixture.ts';

export interface Tag {
  readonly tagName: string;
  readonly tagValue: string;
}

export interface Definition {
  readonly imageId: string;
  readonly timeoutSecs: number;
  readonly idleTimeoutSecs?: number | undefined;
  readonly name?: string | undefined;
  readonly networkAccess?: { readonly networkAccessType: number } | undefined;
  readonly openPorts?: { readonly ports: readonly { readonly port: number }[] } | undefined;
}

/** A sandbox as the account remembers it, also when it is over. */
export interface SandboxRecord {
  readonly id: string;
  readonly appId: string;
  readonly definition: Definition;
  readonly createdAt: number;
  tags: readonly Tag[];
  /** It has been scheduled, and runs. */
  ready: Promise<unknown>;
  result?: { readonly status: number } | undefined;
}

export interface FromNameRequest {
  readonly sandboxName: string;
  readonly appName: string;
  readonly includeTerminated: boolean;
}

export interface ListRequest {
  readonly appId: string;
  readonly beforeTimestamp: number;
  readonly includeFinished: boolean;
  readonly tags: readonly Tag[];
}

export class SandboxRecords {
  readonly #records: SandboxRecord[] = [];

  add(record: Omit<SandboxRecord, 'createdAt'>): SandboxRecord {
    // No two at the same time: it is what pages begin at.
    const createdAt = Math.max(Date.now() / 1000, (this.#records.at(-1)?.createdAt ?? 0) + 0.000_1);
    const added = { ...record, createdAt };
    this.#records.push(added);
    return added;
  }

  /** The one that runs and has the name. */
  holderOf(name: string): SandboxRecord | undefined {
    return this.#records.find(({ definition, result }) => definition.name === name && result === undefined);
  }

  find(id: string): SandboxRecord {
    const record = this.#records.find((each) => each.id === id);
    if (record === undefined) throw new GrpcRefusal(GRPC.NOT_FOUND, `Sandbox ${id} not found`);
    return record;
  }

  running(id: string): SandboxRecord {
    const record = this.find(id);
    if (record.result !== undefined) throw new GrpcRefusal(GRPC.FAILED_PRECONDITION, `Sandbox ${id} has finished`);
    return record;
  }

  named(appId: string, { sandboxName, includeTerminated }: FromNameRequest): unknown {
    const named = this.#records.filter((each) => each.appId === appId && each.definition.name === sandboxName);
    const found = named.find(({ result }) => result === undefined) ?? (includeTerminated ? named.at(-1) : undefined);
    if (found === undefined) throw new GrpcRefusal(GRPC.NOT_FOUND, `Sandbox with name '${sandboxName}' not found`);
    return { sandboxId: found.id, metadata: { result: found.result, appId } };
  }

  /** Newest first; the next page is what was made before the last of this one. */
  list({ appId, beforeTimestamp, includeFinished, tags }: ListRequest, limit: number): readonly unknown[] {
    return this.#records
      .filter((each) => each.appId === appId && (includeFinished || each.result === undefined))
      .filter((each) => beforeTimestamp === 0 || each.createdAt < beforeTimestamp)
      .filter((each) => tags.every((tag) => each.tags.some((one) => isSame(one, tag))))
      .toReversed()
      .slice(0, limit)
      .map(({ id, createdAt, tags: own, definition, result }) => ({
        id,
        appId,
        createdAt,
        tags: own,
        name: definition.name,
        imageId: definition.imageId,
        timeoutSecs: definition.timeoutSecs,
        idleTimeoutSecs: definition.idleTimeoutSecs,
        taskInfo: { id: taskOf(id), startedAt: createdAt, result },
      }));
  }
}

export function taskOf(sandboxId: string): string {
  return sandboxId.replace(/^sb-/, 'ta-');
}

function isSame(a: Tag, b: Tag): boolean {
  return a.tagName === b.tagName && a.tagValue === b.tagValue;
}
