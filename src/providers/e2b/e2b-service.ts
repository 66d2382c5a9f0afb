/** What is asked of E2B for a sandbox, and what its answers say. E2B knows no names: ours is a label. */
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { NetworkFact } from '../../core/network.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import type { ListedSandbox, SandboxSpec } from '../../provider/provider.ts';
import type { SandboxService, WantedSandboxes } from '../../provider/service/sandbox-service.ts';
import { isNotFound } from '../../provider/service/service-errors.ts';
import type { E2bApi, NewE2bSandbox, SandboxDetail } from './e2b-api.ts';
import { createE2bCommands } from './e2b-commands.ts';
import { DEFAULT_CWD, DESKTOP_SDK, type E2bConfig } from './e2b-config.ts';
import { toE2bError } from './e2b-errors.ts';

/** Where the name is kept. */
const NAME = 'sublet.name';

export class E2bService implements SandboxService<SandboxDetail> {
  readonly title = 'E2B';
  readonly hasUniqueNames = false;
  readonly #api: E2bApi;
  readonly #config: E2bConfig;
  readonly #clock: Clock;

  constructor(api: E2bApi, config: E2bConfig, clock: Clock) {
    this.#api = api;
    this.#config = config;
    this.#clock = clock;
  }

  idOf({ sandboxID }: SandboxDetail): string {
    return sandboxID;
  }

  read(detail: SandboxDetail): ListedSandbox | undefined {
    const { [NAME]: name, ...labels } = detail.metadata ?? {};
    if (name === undefined) return undefined;
    const createdAt = detail.startedAt === undefined ? undefined : Date.parse(detail.startedAt);
    return { ref: { name, providerId: detail.sandboxID }, labels, state: this.stateOf(detail), createdAt };
  }

  stateOf({ state }: SandboxDetail): ListedSandbox['state'] {
    if (state !== 'paused') return 'running';
    return this.#config.keepMemory ? 'paused' : 'stopped';
  }

  /** What does not run or rest is gone. */
  failure(): undefined {
    return undefined;
  }

  async create(spec: SandboxSpec): Promise<SandboxDetail> {
    const body = toBody(this.#config, spec);
    try {
      return await (spec.kind === 'desktop' ? this.#createDesktop(body) : this.#api.create(body));
    } catch (cause) {
      throw isNotFound(cause) ? noTemplateError(body.templateID, cause) : cause;
    }
  }

  get(id: string, signal: AbortSignal): Promise<SandboxDetail> {
    return this.#api.get(id, signal);
  }

  list({ name, labels }: WantedSandboxes, signal: AbortSignal): AsyncIterable<SandboxDetail> {
    return this.#api.list({ ...labels, ...(name === undefined ? {} : { [NAME]: name }) }, signal);
  }

  async wake(id: string, signal: AbortSignal): Promise<void> {
    const { keepMemory, timeoutMs } = this.#config;
    const body = { timeout: Math.ceil(timeoutMs / 1000), ...(keepMemory ? {} : { memory: false }) };
    await this.#api.connect(id, body, signal);
  }

  /** A kill is over when it is answered. */
  async remove(id: string, signal: AbortSignal): Promise<'gone'> {
    await this.#api.kill(id, signal);
    return 'gone';
  }

  /** Every template has the default directory. */
  async prepare(detail: SandboxDetail): Promise<void> {
    const { cwd } = this.#config;
    if (cwd === DEFAULT_CWD) return;
    const sandbox = await this.#api.sandbox(detail);
    const options = { api: this.#api, sandbox, clock: this.#clock, name: detail.sandboxID, workdir: '/' };
    const made = await createE2bCommands({ ...options, env: () => ({}) }).run(['mkdir', '-p', '--', cwd]);
    if (made.exitCode === 0) return;
    throw new SubletError('CREATE_FAILED', `The working directory ${cwd} cannot be made: ${made.stderr.trim()}`, {
      hint: 'Set e2b.cwd to a directory that the user of the template may make.',
    });
  }

  /** With a screen: the SDK for desktops makes it, starts the display, and undoes it when that fails. */
  async #createDesktop(body: NewE2bSandbox): Promise<SandboxDetail> {
    const { Sandbox } = await loadSdk('e2b', DESKTOP_SDK, () => import('@e2b/desktop'));
    const { apiKey, connection, onTimeout, keepMemory } = this.#config;
    const desktop = await Sandbox.create(body.templateID, {
      apiKey,
      ...connection,
      metadata: { ...body.metadata },
      allowInternetAccess: body.allow_internet_access,
      timeoutMs: body.timeout * 1000,
      lifecycle: { onTimeout: onTimeout === 'pause' ? { action: onTimeout, keepMemory } : onTimeout },
    }).catch((cause: unknown) => {
      const error = toE2bError(cause);
      if ((cause as Error).name !== 'TimeoutError' && (cause as Error).name !== 'CommandExitError') throw error;
      throw new SubletError('CREATE_FAILED', `The desktop did not start: ${error.message}`, {
        hint: `Use a template with a desktop, such as "desktop"; this was "${body.templateID}".`,
        cause,
      });
    });
    return this.#api.get(desktop.sandboxId, new AbortController().signal);
  }
}

/** null is E2B's default, which is open. What a server does not tell is not known. */
export function networkOf({ allowInternetAccess, network }: SandboxDetail): NetworkFact {
  if (allowInternetAccess === false) return 'none';
  if (network?.denyOut?.includes('0.0.0.0/0') === true)
    return (network.allowOut ?? []).length === 0 ? 'none' : 'allowlist';
  return allowInternetAccess === undefined ? 'unknown' : 'open';
}

function toBody(config: E2bConfig, spec: SandboxSpec): NewE2bSandbox {
  const pauses = config.onTimeout === 'pause';
  return {
    templateID: spec.image ?? config.template ?? (spec.kind === 'desktop' ? 'desktop' : 'base'),
    metadata: { ...spec.labels, [NAME]: spec.name },
    timeout: Math.ceil(Math.min(spec.deadManMs ?? config.timeoutMs, config.maxTimeoutMs) / 1000),
    allow_internet_access: spec.network === 'open',
    autoPause: pauses,
    ...(pauses && !config.keepMemory ? { autoPauseMemory: false } : {}),
  };
}

function noTemplateError(template: string, cause: unknown): SubletError {
  return new SubletError('CREATE_FAILED', `E2B has no template "${template}" for this key.`, {
    cause,
    hint: 'Name another by image, or by e2b.template in the profile.',
  });
}
