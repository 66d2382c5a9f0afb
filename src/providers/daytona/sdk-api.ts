/** Daytona through its own SDK. It takes no signal: whoever gives up leaves a call behind, which changes nothing more. */
import type { CreateSandboxFromImageParams, CreateSandboxFromSnapshotParams, Daytona, Sandbox } from '@daytona/sdk';
import type { Clock } from '../../core/clock.ts';
import type { Labels } from '../../core/spec.ts';
import type { ShellAnswer, ShellCall } from '../../provider/posix/inside/called-process.ts';
import type { TerminalChannel, TerminalRequest } from '../../provider/posix/inside/inside-terminal.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import { lookUntil } from '../../provider/service/look-until.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { DaytonaApi, DaytonaBox, NewBox } from './daytona-api.ts';
import { type DaytonaConfig, SDK } from './daytona-config.ts';
import { translated } from './daytona-errors.ts';
import { MAX_EXEC_SECONDS } from './shell-words.ts';
import { openSdkTerminal } from './terminal.ts';

/** The SDK marks every sandbox with this; it is not a label of ours. */
export const LANGUAGE_LABEL = 'code-toolbox-language';

export class SdkApi implements DaytonaApi {
  readonly passesEnv = true;
  readonly #config: DaytonaConfig;
  readonly #clock: Clock;
  #client: Promise<Daytona> | undefined;

  constructor(config: DaytonaConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  async create(wanted: NewBox): Promise<DaytonaBox> {
    const client = await this.#load();
    const params: CreateSandboxFromSnapshotParams = {
      name: wanted.name,
      labels: { ...wanted.labels },
      autoStopInterval: wanted.autoStop,
      networkBlockAll: wanted.networkBlockAll,
      ...(wanted.user === undefined ? {} : { user: wanted.user }),
      ...(wanted.autoArchive === undefined ? {} : { autoArchiveInterval: wanted.autoArchive }),
      ...(wanted.autoDelete === undefined ? {} : { autoDeleteInterval: wanted.autoDelete }),
      ...(wanted.volumes.length === 0 ? {} : { volumes: [...wanted.volumes] }),
    };
    const from: CreateSandboxFromSnapshotParams | CreateSandboxFromImageParams =
      wanted.image === undefined
        ? { ...params, ...(wanted.snapshot === undefined ? {} : { snapshot: wanted.snapshot }) }
        : { ...params, image: wanted.image, resources: wanted.resources };
    // Without a time-out of its own: how long a create may take is the caller's to say.
    return new SdkBox(await translated(client.create(from, { timeout: 0 })));
  }

  async get(idOrName: string): Promise<DaytonaBox> {
    const client = await this.#load();
    return new SdkBox(await translated(client.get(idOrName)));
  }

  async *list(labels: Labels): AsyncGenerator<DaytonaBox> {
    const client = await this.#load();
    const pages = client.list({ labels: { ...labels } })[Symbol.asyncIterator]();
    for (;;) {
      const next = await translated(pages.next());
      if (next.done === true) return;
      yield new SdkBox(next.value);
    }
  }

  async volumeId(name: string, signal: AbortSignal): Promise<string> {
    const client = await this.#load();
    const look = async (): Promise<string | undefined> => {
      const { id, state } = await translated(client.volume.get(name, true));
      return String(state) === 'ready' ? id : undefined;
    };
    return (await lookUntil(this.#clock, look, signal)) as string;
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    this.#client = undefined;
    await client?.[Symbol.asyncDispose]();
  }

  #load(): Promise<Daytona> {
    this.#client ??= this.#open().catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #open(): Promise<Daytona> {
    const sdk = await loadSdk('daytona', SDK, () => import('@daytona/sdk'));
    const { apiKey, apiUrl, target } = this.#config;
    // All three, or else it looks for them in the environment and in .env files of the working directory. Its events would
    // come over a connection that is open as long as this process; without them it asks, which is quicker too.
    return new sdk.Daytona({ apiKey, apiUrl, target: target ?? '', useDeprecatedPolling: true });
  }
}

class SdkBox implements DaytonaBox {
  readonly #sandbox: Sandbox;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  get id(): string {
    return this.#sandbox.id;
  }

  get name(): string {
    return this.#sandbox.name;
  }

  get state(): string {
    return this.#sandbox.state ?? 'unknown';
  }

  get reason(): string | undefined {
    return this.#sandbox.errorReason;
  }

  get labels(): Labels {
    const { [LANGUAGE_LABEL]: _, ...labels } = this.#sandbox.labels;
    return labels;
  }

  get createdAt(): number | undefined {
    return this.#sandbox.createdAt === undefined ? undefined : Date.parse(this.#sandbox.createdAt);
  }

  get lastActiveAt(): number | undefined {
    return this.#sandbox.lastActivityAt === undefined ? undefined : Date.parse(this.#sandbox.lastActivityAt);
  }

  get autoStop(): number | undefined {
    return this.#sandbox.autoStopInterval;
  }

  get autoDelete(): number | undefined {
    return this.#sandbox.autoDeleteInterval;
  }

  get networkBlockAll(): boolean | undefined {
    return this.#sandbox.networkBlockAll;
  }

  start(): Promise<void> {
    return translated(this.#sandbox.start(0));
  }

  stop(): Promise<void> {
    return translated(this.#sandbox.stop(0));
  }

  pause(): Promise<void> {
    return translated(this.#sandbox.pause(0));
  }

  remove(): Promise<void> {
    return translated(this.#sandbox.delete(0));
  }

  blockNetwork(): Promise<void> {
    return translated(this.#sandbox.updateNetworkSettings({ networkBlockAll: true }));
  }

  async setAutoStop(minutes: number): Promise<void> {
    await translated(this.#sandbox.setAutostopInterval(minutes));
    await translated(this.#sandbox.refreshActivity());
  }

  async previewUrl(port: number): Promise<string> {
    return (await translated(this.#sandbox.getPreviewLink(port))).url;
  }

  async workdir(): Promise<string> {
    return (await translated(this.#sandbox.getWorkDir())) ?? '/home/daytona';
  }

  async execute(script: string, env: Readonly<Record<string, string>>): Promise<ShellAnswer> {
    // Its server gives the line to a shell, whichever there is.
    const command = `sh -c ${shellQuote(script)}`;
    const run = this.#sandbox.process.executeCommand(command, undefined, { ...env }, MAX_EXEC_SECONDS);
    const { exitCode, result } = await translated(run);
    return { exitCode, output: result };
  }

  upload(path: string, bytes: Uint8Array): Promise<void> {
    return translated(this.#sandbox.fs.uploadFile(Buffer.from(bytes), path));
  }

  openTerminal(request: TerminalRequest): Promise<TerminalChannel> {
    const call: ShellCall = (script, env) => this.execute(script, env);
    return openSdkTerminal(this.#sandbox.process, call, request);
  }
}
