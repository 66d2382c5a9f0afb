/** Daytona over plain HTTP: for servers that are older than the SDK, and where no package is to be installed. */
import type { Clock } from '../../core/clock.ts';
import type { Labels } from '../../core/spec.ts';
import type { ShellAnswer } from '../../provider/posix/inside/called-process.ts';
import { lookUntil } from '../../provider/service/look-until.ts';
import { isNotFound } from '../../provider/service/service-errors.ts';
import type { DaytonaApi, DaytonaBox, NewBox } from './daytona-api.ts';
import type { DaytonaConfig } from './daytona-config.ts';
import { ServiceError, toDaytonaError } from './daytona-errors.ts';
import { MAX_EXEC_SECONDS, shellWords } from './shell-words.ts';

interface SandboxDto {
  readonly id: string;
  readonly name?: string;
  readonly state?: string;
  readonly errorReason?: string;
  readonly labels?: Labels;
  readonly createdAt?: string;
  readonly lastActivityAt?: string;
  readonly autoStopInterval?: number;
  readonly autoDeleteInterval?: number;
  readonly networkBlockAll?: boolean;
  readonly toolboxProxyUrl?: string;
}

interface VolumeDto {
  readonly id: string;
  readonly state?: string;
}

type Ask = <T>(method: 'GET' | 'POST' | 'DELETE', url: string, body?: unknown) => Promise<T>;

export class HttpApi implements DaytonaApi {
  readonly passesEnv = false;
  readonly #config: DaytonaConfig;
  readonly #clock: Clock;

  constructor(config: DaytonaConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  async create(wanted: NewBox): Promise<DaytonaBox> {
    const { image, autoStop, autoArchive, autoDelete, resources, snapshot, ...rest } = wanted;
    const body = {
      ...rest,
      ...(image === undefined ? { snapshot } : { buildInfo: { dockerfileContent: `FROM ${image}\n` }, ...resources }),
      env: {},
      target: this.#config.target,
      autoStopInterval: autoStop,
      autoArchiveInterval: autoArchive,
      autoDeleteInterval: autoDelete,
    };
    return this.#box(await this.#control<SandboxDto>('POST', '/sandbox', body));
  }

  async get(idOrName: string): Promise<DaytonaBox> {
    return this.#box(await this.#control<SandboxDto>('GET', `/sandbox/${encodeURIComponent(idOrName)}`));
  }

  async *list(labels: Labels): AsyncGenerator<DaytonaBox> {
    for (let cursor: string | undefined; ;) {
      const query = new URLSearchParams({
        labels: JSON.stringify(labels),
        ...(cursor === undefined ? {} : { cursor }),
      });
      const page = await this.#control<{ items: readonly SandboxDto[]; nextCursor?: string | null }>(
        'GET',
        `/sandbox?${query.toString()}`,
      );
      for (const item of page.items) yield this.#box(item);
      cursor = page.nextCursor ?? undefined;
      if (cursor === undefined) return;
    }
  }

  async volumeId(name: string, signal: AbortSignal): Promise<string> {
    const find = (): Promise<VolumeDto> =>
      this.#control<VolumeDto>('GET', `/volumes/by-name/${encodeURIComponent(name)}`);
    const look = async (): Promise<string | undefined> => {
      const { id, state } = await find().catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
        return this.#control<VolumeDto>('POST', '/volumes', { name });
      });
      return state === 'ready' ? id : undefined;
    };
    return (await lookUntil(this.#clock, look, signal)) as string;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #box(dto: SandboxDto): DaytonaBox {
    return new HttpBox(dto, this.#ask, this.#config.apiUrl);
  }

  #control<T>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> {
    return this.#ask<T>(method, `${this.#config.apiUrl}${path}`, body);
  }

  readonly #ask: Ask = async <T>(method: string, url: string, body?: unknown): Promise<T> => {
    try {
      const authorization = `Bearer ${this.#config.apiKey}`;
      const response = await fetch(url, { method, ...contentOf(body, { authorization }) });
      const text = await response.text();
      if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
      throw serviceError(response, text);
    } catch (cause) {
      throw toDaytonaError(cause);
    }
  };
}

class HttpBox implements DaytonaBox {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly reason: string | undefined;
  readonly labels: Labels;
  readonly createdAt: number | undefined;
  readonly lastActiveAt: number | undefined;
  readonly autoStop: number | undefined;
  readonly autoDelete: number | undefined;
  readonly networkBlockAll: boolean | undefined;
  readonly #ask: Ask;
  readonly #url: string;
  #toolbox: string | undefined;

  constructor(dto: SandboxDto, ask: Ask, apiUrl: string) {
    this.id = dto.id;
    // Servers that have no names find a sandbox by its id alone.
    this.name = dto.name ?? dto.id;
    this.state = dto.state ?? 'unknown';
    this.reason = dto.errorReason;
    this.labels = dto.labels ?? {};
    this.createdAt = dto.createdAt === undefined ? undefined : Date.parse(dto.createdAt);
    this.lastActiveAt = dto.lastActivityAt === undefined ? undefined : Date.parse(dto.lastActivityAt);
    this.autoStop = dto.autoStopInterval;
    this.autoDelete = dto.autoDeleteInterval;
    this.networkBlockAll = dto.networkBlockAll;
    this.#ask = ask;
    this.#url = `${apiUrl}/sandbox/${dto.id}`;
    this.#toolbox = dto.toolboxProxyUrl;
  }

  async start(): Promise<void> {
    await this.#ask('POST', `${this.#url}/start`);
  }

  async stop(): Promise<void> {
    await this.#ask('POST', `${this.#url}/stop`);
  }

  async pause(): Promise<void> {
    await this.#ask('POST', `${this.#url}/pause`);
  }

  async remove(): Promise<void> {
    await this.#ask('DELETE', this.#url);
  }

  async blockNetwork(): Promise<void> {
    await this.#ask('POST', `${this.#url}/network-settings`, { networkBlockAll: true });
  }

  async setAutoStop(minutes: number): Promise<void> {
    await this.#ask('POST', `${this.#url}/autostop/${minutes}`);
    await this.#ask('POST', `${this.#url}/last-activity`);
  }

  async previewUrl(port: number): Promise<string> {
    return (await this.#ask<{ url: string }>('GET', `${this.#url}/ports/${port}/preview-url`)).url;
  }

  async workdir(): Promise<string> {
    return (await this.#ask<{ dir: string }>('GET', `${await this.#toolboxUrl()}/work-dir`)).dir;
  }

  async execute(script: string, env: Readonly<Record<string, string>>): Promise<ShellAnswer> {
    const envs = Object.keys(env).length === 0 ? {} : { envs: env };
    const answer = await this.#ask<{ exitCode?: number; code?: number; result?: string }>(
      'POST',
      `${await this.#toolboxUrl()}/process/execute`,
      { command: shellWords(script), timeout: MAX_EXEC_SECONDS, ...envs },
    );
    return { exitCode: answer.exitCode ?? answer.code ?? null, output: answer.result ?? '' };
  }

  async upload(path: string, bytes: Uint8Array): Promise<void> {
    const form = new FormData();
    form.append('files[0].path', path);
    form.append('files[0].file', new Blob([Uint8Array.from(bytes)]), path);
    await this.#ask('POST', `${await this.#toolboxUrl()}/files/bulk-upload`, form);
  }

  async #toolboxUrl(): Promise<string> {
    this.#toolbox ??= (await this.#ask<{ url: string }>('GET', `${this.#url}/toolbox-proxy-url`)).url;
    return `${this.#toolbox.replace(/\/+$/, '')}/${this.id}`;
  }
}

function contentOf(body: unknown, headers: Readonly<Record<string, string>>): Pick<RequestInit, 'headers' | 'body'> {
  if (body === undefined) return { headers };
  if (body instanceof FormData) return { headers, body };
  return { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function serviceError(response: Response, text: string): ServiceError {
  return new ServiceError(
    saidIn(text) ?? (text.slice(0, 500) || response.statusText),
    response.status,
    response.headers,
  );
}

function saidIn(text: string): string | undefined {
  try {
    const { message, error } = JSON.parse(text) as { readonly message?: unknown; readonly error?: unknown };
    return [message, error].find((said) => typeof said === 'string');
  } catch {
    // A proxy in between answers in its own words.
    return undefined;
  }
}
