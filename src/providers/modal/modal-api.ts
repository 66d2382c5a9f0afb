/**
 * Modal's control plane, through the client that its SDK is built on: it takes a signal, says what a list knows, and asks once
 * where that is wanted. The SDK's own `create` asks four times.
 */
import type { App, ModalClient, Sandbox } from 'modal';
import { SubletError } from '../../core/errors.ts';
import { abortable } from '../../provider/abortable.ts';
import { isNotFound } from '../../provider/service/service-errors.ts';
import { type ModalSdk, openModalSdk } from './modal-client.ts';
import type { ModalConfig } from './modal-config.ts';
import { toModalError } from './modal-errors.ts';
import { retryAfterMs } from './retry-policy.ts';

export type Tags = Readonly<Record<string, string>>;
type ControlPlane = ModalClient['cpClient'];
type Definition = NonNullable<Parameters<ControlPlane['sandboxCreateV2']>[0]['definition']>;
type CallOptions = NonNullable<Parameters<ControlPlane['sandboxCreateV2']>[1]>;

export interface NewSandbox {
  readonly tags: Tags;
  readonly definition: Definition;
}

export interface KnownSandbox {
  readonly id: string;
  /** 0 while it runs, else how it ended. */
  readonly status: number;
  readonly tags: Tags;
  readonly createdAt?: number | undefined;
}

/** What may be asked again is, once. */
const READ_RETRIES = 1;
const REQUEST_MS = 60_000;
const CREATE_MS = 5 * 60_000;
const SNAPSHOT_MS = 10 * 60_000;
const TUNNEL_SECS = 20;

export class ModalApi {
  readonly #config: ModalConfig;
  #sdk: Promise<ModalSdk> | undefined;
  #app: Promise<App> | undefined;
  /** By what was asked for. A build that failed is tried again. */
  readonly #images = new Map<string, Promise<string>>();
  readonly #sandboxes = new Map<string, Promise<Sandbox>>();

  constructor(config: ModalConfig) {
    this.#config = config;
  }

  /** STATE_CONFLICT when a running one has the name. Asked once. */
  async create({ tags, definition }: NewSandbox): Promise<KnownSandbox> {
    const { appId } = await this.#loadApp();
    const { client, Sandbox: Handle } = await this.#load();
    const made = await this.#ask(
      (plane, options) => plane.sandboxCreateV2({ appId, definition, tags: toTagList(tags) }, options),
      undefined,
      { retries: 0, timeoutMs: CREATE_MS },
    );
    const { sandboxId: id, taskId, commandRouterAccess: access } = made;
    const sandbox = new Handle(client, id, {
      ...(taskId === '' ? {} : { taskId }),
      ...(access === undefined ? {} : { initCommandRouterAccess: access }),
    });
    this.#sandboxes.set(id, Promise.resolve(sandbox));
    return { id, status: 0, tags };
  }

  /** The SDK's own object for what is inside, with its connection. Nothing is asked. */
  sandbox(id: string): Promise<Sandbox> {
    const known = this.#sandboxes.get(id) ?? this.#load().then(({ client }) => client.sandboxes.fromId(id));
    this.#sandboxes.set(id, known);
    return known;
  }

  /** Lets go of the connection once nothing uses it. */
  detach(id: string): void {
    void this.#sandboxes
      .get(id)
      ?.then((sandbox) => sandbox.detach())
      .catch(() => undefined);
    this.#sandboxes.delete(id);
  }

  /** The one that runs under the name, else the last that did. */
  async newest(name: string, signal: AbortSignal): Promise<KnownSandbox | undefined> {
    const { client } = await this.#load();
    const { name: appName = '' } = await abortable(this.#loadApp(), signal);
    const request = {
      sandboxName: name,
      appName,
      environmentName: client.environmentName(),
      includeTerminated: true,
    };
    return this.#unlessGone(async () => {
      const found = await this.#ask((plane, options) => plane.sandboxGetFromNameV2(request, options), signal);
      const { sandboxId: id, metadata } = found;
      const [tags, status] = await Promise.all([
        this.#tags(id, signal),
        metadata === undefined ? this.status(id, signal) : (metadata.result?.status ?? 0),
      ]);
      return { id, status, tags };
    });
  }

  /** Every page, of those that run or of all that ever did. */
  async *list(tags: Tags, includeFinished: boolean, signal: AbortSignal): AsyncGenerator<KnownSandbox> {
    const { appId } = await abortable(this.#loadApp(), signal);
    let before: number | undefined;
    for (;;) {
      const request = {
        appId,
        includeFinished,
        tags: toTagList(tags),
        ...(before === undefined ? {} : { beforeTimestamp: before }),
      };
      const { sandboxes } = await this.#ask((plane, options) => plane.sandboxListV2(request, options), signal);
      for (const { id, createdAt, tags: listed, taskInfo } of sandboxes) {
        const known = listed.length > 0 ? fromTagList(listed) : await this.#unlessGone(() => this.#tags(id, signal));
        if (known !== undefined)
          yield { id, tags: known, status: taskInfo?.result?.status ?? 0, createdAt: Math.round(createdAt * 1000) };
        before = createdAt;
      }
      if (sandboxes.length === 0) return;
    }
  }

  /** Replaces all of them. */
  async setTags(sandboxId: string, tags: Tags, signal: AbortSignal): Promise<void> {
    const request = { sandboxId, tags: toTagList(tags) };
    await this.#ask((plane, options) => plane.sandboxTagsSetV2(request, options), signal);
  }

  /** What is on its disk, as an image that goes by itself after so many seconds, or stays. */
  async snapshot(sandboxId: string, keepSecs: number | 'for good', signal: AbortSignal): Promise<string> {
    const sandbox = await this.sandbox(sandboxId);
    const ttlMs = keepSecs === 'for good' ? null : keepSecs * 1000;
    const taken = sandbox.snapshotFilesystem({ ttlMs, timeoutMs: SNAPSHOT_MS });
    const { imageId } = await abortable(taken, signal).catch((cause: unknown) => {
      throw toModalError(cause, signal);
    });
    return imageId;
  }

  async terminate(sandboxId: string, signal: AbortSignal): Promise<void> {
    await this.#ask((plane, options) => plane.sandboxTerminateV2({ sandboxId }, options), signal);
  }

  /** 0 while it runs. */
  async status(sandboxId: string, signal: AbortSignal): Promise<number> {
    const request = { sandboxId, timeout: 0 };
    const { result } = await this.#ask((plane, options) => plane.sandboxWaitV2(request, options), signal);
    return result?.status ?? 0;
  }

  /** Where its ports are reached, by port. */
  async tunnels(sandboxId: string, signal: AbortSignal): Promise<ReadonlyMap<number, string>> {
    const request = { sandboxId, timeout: TUNNEL_SECS };
    const { tunnels } = await this.#ask((plane, options) => plane.sandboxGetTunnelsV2(request, options), signal);
    return new Map(
      tunnels.map(({ containerPort, host, port }) => [
        containerPort,
        port === 443 ? `https://${host}` : `https://${host}:${port}`,
      ]),
    );
  }

  /** An id of Modal's as it is; anything else is pulled from a registry and built, once in this process. */
  async image(reference: string): Promise<string> {
    if (reference.startsWith('im-')) return reference;
    const known = this.#images.get(reference);
    if (known !== undefined) return known;
    const built = this.#build(reference);
    this.#images.set(reference, built);
    built.catch(() => this.#images.delete(reference));
    return built;
  }

  async hasImage(imageId: string, signal: AbortSignal): Promise<boolean> {
    const found = await this.#unlessGone(() =>
      this.#ask((plane, options) => plane.imageFromId({ imageId }, options), signal),
    );
    return found !== undefined;
  }

  /** Already gone is success. */
  async deleteImage(imageId: string, signal: AbortSignal): Promise<void> {
    await this.#unlessGone(() => this.#ask((plane, options) => plane.imageDelete({ imageId }, options), signal));
  }

  async close(): Promise<void> {
    const sdk = this.#sdk;
    for (const id of this.#sandboxes.keys()) this.detach(id);
    this.#sdk = undefined;
    this.#app = undefined;
    this.#images.clear();
    (await sdk?.catch(() => undefined))?.client.close();
  }

  async #build(reference: string): Promise<string> {
    const [{ client }, app] = await Promise.all([this.#load(), this.#loadApp()]);
    try {
      return (await client.images.fromRegistry(reference).build(app)).imageId;
    } catch (cause) {
      throw toModalError(cause);
    }
  }

  async #tags(sandboxId: string, signal: AbortSignal): Promise<Tags> {
    const { tags } = await this.#ask((plane, options) => plane.sandboxTagsGetV2({ sandboxId }, options), signal);
    return fromTagList(tags);
  }

  async #ask<T>(
    ask: (plane: ControlPlane, options: CallOptions) => Promise<T>,
    signal?: AbortSignal,
    limits: CallOptions = { retries: READ_RETRIES, timeoutMs: REQUEST_MS },
  ): Promise<T> {
    const { client } = await this.#load();
    let waitMs: number | undefined;
    const options: CallOptions = {
      ...limits,
      ...(signal === undefined ? {} : { signal }),
      onTrailer: (trailer) => {
        const details = trailer.get('grpc-status-details-bin');
        if (details instanceof Uint8Array) waitMs = retryAfterMs(details);
      },
    };
    const asked = ask(client.cpClient, options);
    // The SDK takes a token first, and does not give up waiting for that.
    return (signal === undefined ? asked : abortable(asked, signal)).catch((cause: unknown) => {
      throw toModalError(cause, signal, waitMs);
    });
  }

  async #unlessGone<T>(ask: () => Promise<T>): Promise<T | undefined> {
    return ask().catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }

  #loadApp(): Promise<App> {
    this.#app ??= this.#openApp().catch((error: unknown) => {
      this.#app = undefined;
      throw error;
    });
    return this.#app;
  }

  async #openApp(): Promise<App> {
    const { client } = await this.#load();
    return client.apps.fromName(this.#config.app, { createIfMissing: true }).catch((cause: unknown) => {
      const error = toModalError(cause);
      // An app is made where there is none: what is missing is the place for it, and nothing is known of its sandboxes.
      if (!isNotFound(error)) throw error;
      throw new SubletError('CONFIG_INVALID', error.message, { cause, hint: 'Check modal.environment.' });
    });
  }

  #load(): Promise<ModalSdk> {
    this.#sdk ??= openModalSdk(this.#config).catch((error: unknown) => {
      this.#sdk = undefined;
      throw error;
    });
    return this.#sdk;
  }
}

function toTagList(tags: Tags): { tagName: string; tagValue: string }[] {
  return Object.entries(tags).map(([tagName, tagValue]) => ({ tagName, tagValue }));
}

function fromTagList(list: readonly { readonly tagName: string; readonly tagValue: string }[]): Tags {
  return Object.fromEntries(list.map(({ tagName, tagValue }) => [tagName, tagValue]));
}
