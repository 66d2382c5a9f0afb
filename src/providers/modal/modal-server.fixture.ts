/** Modal on loopback, with real sandboxes behind it: its control plane. It refuses what the service refuses. */
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http2';
import type { SandboxProvider } from '../../provider/provider.ts';
import { BackingSandboxes } from '../../testing/loopback/backing-sandboxes.ts';
import { FaultSwitchboard } from '../../testing/loopback/fault-switchboard.ts';
import { GRPC, type GrpcHandler, GrpcRefusal, GrpcServer } from './grpc-server.fixture.ts';
import { CommandRouter } from './modal-router.fixture.ts';
import { ModalImages } from './modal-images.fixture.ts';
import {
  type Definition,
  type FromNameRequest,
  type ListRequest,
  type SandboxRecord,
  SandboxRecords,
  type Tag,
  taskOf,
} from './sandbox-records.fixture.ts';
import { modalProtocol } from './modal-protocol.fixture.ts';

const BLOCKED = 2;
const MAX_LIFETIME_SECS = 24 * 3600;
const TERMINATED = 3;
const TIMED_OUT = 4;
const INIT_FAILED = 5;
const SUCCESS = 1;

export class ModalServer {
  readonly faults: FaultSwitchboard = new FaultSwitchboard();
  readonly sandboxes: BackingSandboxes;
  readonly images: ModalImages = new ModalImages();
  readonly #key: { readonly tokenId: string; readonly tokenSecret: string };
  readonly #grpc: GrpcServer;
  readonly #router: CommandRouter;
  readonly #apps = new Map<string, string>();
  readonly #records = new SandboxRecords();

  constructor(provider: SandboxProvider, key: { readonly tokenId: string; readonly tokenSecret: string }) {
    this.#key = key;
    this.sandboxes = new BackingSandboxes(provider);
    this.#router = new CommandRouter({
      find: (taskId) => this.sandboxes.get(taskId.replace(/^ta-/, 'sb-')),
      snapshot: (snapshotId, { handle }) => this.images.snapshot(snapshotId, handle),
    });
    const { ModalClientDefinition } = modalProtocol();
    this.#grpc = new GrpcServer(this.faults, [
      {
        definition: ModalClientDefinition,
        handlers: this.#handlers(),
        authorize: (method, headers) => this.#authorize(method, headers),
      },
      this.#router.service,
    ]);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#grpc.port}`;
  }

  /** How many programs run now. */
  get executing(): number {
    return this.#router.executing;
  }

  async open(): Promise<void> {
    await this.#grpc.open();
  }

  async close(): Promise<void> {
    this.faults.clear();
    await this.#grpc.close();
    await this.sandboxes.close();
  }

  /** Another's, in the same app. */
  async makeForeign(appName: string): Promise<string> {
    const definition = {
      imageId: this.images.build(['FROM other']),
      timeoutSecs: 60,
      name: `foreign-${randomBytes(4).toString('hex')}`,
    };
    const tags = [{ tagName: 'team', tagValue: 'other' }];
    const made = await this.#create({ appId: this.#app(appName), definition, tags });
    return made.sandboxId;
  }

  /** Its life is over, and Modal ends it by itself. */
  async expire(name: string): Promise<void> {
    const entry = this.#records.holderOf(name);
    if (entry !== undefined) await this.#end(entry, TIMED_OUT);
  }

  #authorize(method: string, headers: IncomingHttpHeaders): void {
    const isKnown =
      headers['x-modal-token-id'] === this.#key.tokenId && headers['x-modal-token-secret'] === this.#key.tokenSecret;
    if (!isKnown) throw new GrpcRefusal(GRPC.UNAUTHENTICATED, 'Token validation failed');
    if (method !== 'AuthTokenGet' && headers['x-modal-auth-token'] === undefined)
      throw new GrpcRefusal(GRPC.UNAUTHENTICATED, 'Missing auth token');
  }

  #handlers(): Readonly<Record<string, GrpcHandler>> {
    return {
      AuthTokenGet: async () => ({ token: jwt() }),
      AppGetOrCreate: async ({ appName }: { appName: string }) => ({ appId: this.#app(appName) }),
      EnvironmentGetOrCreate: async () => ({
        environmentId: 'en-main',
        metadata: { name: 'main', settings: { imageBuilderVersion: '2025.06' } },
      }),
      ImageGetOrCreate: async (request: { image: { dockerfileCommands: string[] } }) => this.#build(request.image),
      ImageFromId: async ({ imageId }: { imageId: string }) => {
        this.images.assertThere(imageId);
        return { imageId };
      },
      ImageDelete: async ({ imageId }: { imageId: string }) => this.images.delete(imageId) ?? {},
      SandboxCreateV2: (request: CreateRequest) => this.#create(request),
      SandboxGetFromNameV2: async (request: FromNameRequest) =>
        this.#records.named(this.#app(request.appName), request),
      SandboxListV2: async (request: ListRequest) => ({
        sandboxes: this.#records.list(request, this.sandboxes.pageSize),
      }),
      SandboxTagsGetV2: async ({ sandboxId }: OfSandbox) => ({ tags: this.#records.find(sandboxId).tags }),
      SandboxTagsSetV2: async ({ sandboxId, tags }: OfSandbox & { tags: Tag[] }) => {
        this.#records.running(sandboxId).tags = tags;
        return {};
      },
      SandboxWaitV2: async ({ sandboxId }: OfSandbox) => ({ result: this.#records.find(sandboxId).result }),
      SandboxTerminateV2: async ({ sandboxId }: OfSandbox) => this.#end(this.#records.find(sandboxId), TERMINATED),
      SandboxGetTaskIdV2: async ({ sandboxId }: OfSandbox) => {
        await this.#records.find(sandboxId).ready.catch(() => undefined);
        const { result } = this.#records.find(sandboxId);
        return result === undefined ? { taskId: taskOf(sandboxId) } : { taskResult: result };
      },
      SandboxGetCommandRouterAccess: async ({ sandboxId }: OfSandbox) =>
        this.#access(this.#records.running(sandboxId).id),
      SandboxGetTunnelsV2: async ({ sandboxId }: OfSandbox) => this.#tunnels(this.#records.running(sandboxId)),
    };
  }

  #app(name: string): string {
    const id = this.#apps.get(name) ?? `ap-${randomBytes(6).toString('hex')}`;
    this.#apps.set(name, id);
    return id;
  }

  #build({ dockerfileCommands }: { readonly dockerfileCommands: readonly string[] }): unknown {
    const isMissing = dockerfileCommands.some((line) => line.includes('missing'));
    const exception = `image ${dockerfileCommands[0]} could not be pulled`;
    return {
      imageId: this.images.build(dockerfileCommands),
      result: isMissing ? { status: 2, exception } : { status: SUCCESS },
    };
  }

  async #create({ appId, definition, tags }: CreateRequest): Promise<CreateResponse> {
    const { name = '', timeoutSecs, networkAccess, openPorts, imageId } = definition;
    if (![...this.#apps.values()].includes(appId)) throw new GrpcRefusal(GRPC.NOT_FOUND, `App ${appId} not found`);
    this.images.assertThere(imageId);
    if (timeoutSecs > MAX_LIFETIME_SECS)
      throw new GrpcRefusal(GRPC.INVALID_ARGUMENT, `timeout may not exceed ${MAX_LIFETIME_SECS} seconds`);
    const isBlocked = networkAccess?.networkAccessType === BLOCKED;
    if (isBlocked && (openPorts?.ports ?? []).length > 0)
      throw new GrpcRefusal(GRPC.INVALID_ARGUMENT, 'Cannot open ports when network access is blocked');
    if (this.#records.holderOf(name) !== undefined)
      throw new GrpcRefusal(GRPC.ALREADY_EXISTS, `Sandbox with name '${name}' already exists`);
    // Not of the shape that sandboxes of the first backend have.
    const id = `sb-v2${randomBytes(12).toString('hex')}`;
    const ready = this.#begin(id, definition, tags);
    const entry = this.#records.add({ id, appId, definition, tags, ready });
    await ready.catch((error: unknown) => {
      entry.result = { status: INIT_FAILED };
      throw error;
    });
    return { sandboxId: id, taskId: taskOf(id), commandRouterAccess: this.#access(id) };
  }

  async #begin(id: string, { name, imageId, networkAccess }: Definition, tags: readonly Tag[]): Promise<void> {
    const network = networkAccess?.networkAccessType === BLOCKED ? 'none' : 'open';
    const labels = Object.fromEntries(tags.map(({ tagName, tagValue }) => [tagName, tagValue]));
    const { handle } = await this.sandboxes.create({ id, name, labels, network });
    await this.images.unpack(imageId, handle);
  }

  async #end(entry: SandboxRecord, status: number): Promise<unknown> {
    await entry.ready.catch(() => undefined);
    if (entry.result !== undefined) return {};
    this.#router.forget(taskOf(entry.id));
    await this.sandboxes.remove(entry.id);
    if (this.sandboxes.get(entry.id) === undefined) entry.result ??= { status };
    return {};
  }

  #access(id: string): { readonly url: string; readonly jwt: string } {
    // Its scheme says so although nothing on this machine is encrypted.
    return {
      url: `https://127.0.0.1:${this.#grpc.port}`,
      jwt: this.#router.tokenFor(taskOf(id), jwt()),
    };
  }

  #tunnels({ id, definition }: SandboxRecord): unknown {
    const ports = definition.openPorts?.ports ?? [];
    const tunnels = ports.map(({ port }) => ({ containerPort: port, port: 443, host: `${id}-${port}.w.modal.host` }));
    return { result: { status: SUCCESS }, tunnels };
  }
}

interface OfSandbox {
  readonly sandboxId: string;
}

interface CreateRequest {
  readonly appId: string;
  readonly definition: Definition;
  readonly tags: readonly Tag[];
}

interface CreateResponse {
  readonly sandboxId: string;
  readonly taskId: string;
  readonly commandRouterAccess: { readonly url: string; readonly jwt: string };
}

/** It says when it expires, which is all that clients read of it. */
function jwt(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { exp: Math.floor(Date.now() / 1000) + 3600, jti: randomBytes(8).toString('hex') };
  return `${part({ alg: 'none' })}.${part(claims)}.x`;
}
