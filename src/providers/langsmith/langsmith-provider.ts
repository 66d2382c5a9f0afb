/** Sandboxes of LangSmith. The service is the only place where anything about them is kept. */
import { SubletError } from '../../core/errors.ts';
import type { Labels } from '../../core/spec.ts';
import { abortable } from '../../provider/abortable.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { createShellFiles } from '../../provider/posix/shell-files.ts';
import type {
  AttachOptions,
  ListedSandbox,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSnapshot,
  SandboxSpec,
} from '../../provider/provider.ts';
import { HeldSandboxes } from '../../provider/service/held-sandboxes.ts';
import { lookUntil } from '../../provider/service/look-until.ts';
import { ServiceSandboxes } from '../../provider/service/service-sandboxes.ts';
import { createdAt, EPHEMERAL_SECONDS, idleMsOf, idleSeconds, isResting, networkOf, stateOf } from './box-facts.ts';
import { BoxShell } from './box-shell.ts';
import type { Box, LangsmithApi } from './langsmith-api.ts';
import { createLangsmithCommands } from './langsmith-commands.ts';
import { capabilitiesOf, type LangsmithConfig } from './langsmith-config.ts';
import { assertPossible, restingError } from './langsmith-errors.ts';
import { LangsmithService } from './langsmith-service.ts';

interface Held {
  readonly shell: BoxShell;
  readonly commands: RemoteCommands;
}

/** How long the address of a port is good for; LangSmith grants no more. */
const PORT_URL_SECONDS = 24 * 60 * 60;

export class LangsmithProvider implements SandboxProvider {
  readonly id = 'langsmith';
  readonly capabilities: ReadonlySet<Capability>;
  readonly #context: ProviderContext;
  readonly #config: LangsmithConfig;
  readonly #api: LangsmithApi;
  readonly #hasSockets: boolean;
  readonly #boxes: ServiceSandboxes<Box>;
  readonly #held = new HeldSandboxes<Held>();

  constructor(context: ProviderContext, config: LangsmithConfig, api: LangsmithApi, hasSockets: boolean) {
    this.#context = context;
    this.#config = config;
    this.#api = api;
    this.#hasSockets = hasSockets;
    this.capabilities = capabilitiesOf(config, hasSockets);
    const service = new LangsmithService(api, config, (box) => this.#hold(box, undefined).shell);
    this.#boxes = new ServiceSandboxes(service, context);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    assertPossible(spec);
    return this.#handle(await this.#boxes.create(spec, signal), spec.env);
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    const box = await this.#boxes.find(ref, signal);
    return box && this.#handle(box, options.env);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#boxes.destroy(ref, signal);
    this.#held.forget(ref.name);
  }

  list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    return this.#boxes.list(filter, signal);
  }

  async pause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#boxes.move(ref, 'paused', (box) => this.#rest(box, signal), signal);
  }

  resume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    return this.start(ref, signal);
  }

  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#boxes.move(ref, 'stopped', (box) => this.#rest(box, signal), signal);
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    const held = this.#held.find(ref.name, undefined, options.env);
    await this.#boxes.wake(ref, signal);
    held?.shell.wake();
  }

  /** Any command begins the idle time anew. */
  async extend(ref: SandboxRef, ms: number, signal: AbortSignal): Promise<number> {
    const box = await this.#boxes.known(ref, signal);
    if (stateOf(box) !== 'running') throw restingError(ref.name);
    const seconds = idleSeconds(ms);
    if (box.idle_ttl_seconds !== seconds) await this.#api.update(ref.name, { idle_ttl_seconds: seconds }, signal);
    const { shell } = this.#hold(box, undefined);
    await abortable(shell.call('exit 0', {}), signal);
    return shell.usedAt + seconds * 1000;
  }

  async snapshot(ref: SandboxRef, signal: AbortSignal): Promise<SandboxSnapshot> {
    const { clock } = this.#context;
    await this.#boxes.known(ref, signal);
    const name = `${ref.name}-${clock.now().toString(36)}`;
    const { id = '' } = await this.#api.takeSnapshot(ref.name, name, signal);
    const look = async (): Promise<SandboxSnapshot | undefined> => {
      const { status, status_message: reason } = await this.#api.getSnapshot(id, signal);
      if (status !== 'failed') return status === 'ready' ? { image: id } : undefined;
      throw new SubletError('PROVIDER_UNAVAILABLE', `The snapshot ${name} failed: ${reason ?? 'no reason given'}.`, {
        hint: 'Try again, or look at it in the workspace.',
      });
    };
    return (await lookUntil(clock, look, signal)) as SandboxSnapshot;
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    await this.#boxes.known(ref, signal);
    const url = await this.#api.serviceUrl(ref.name, port, PORT_URL_SECONDS, signal);
    if (url !== undefined && url !== '') return url;
    throw new SubletError('UNSUPPORTED', 'This server of LangSmith has no addresses for ports.', {
      hint: 'Enable service URLs on the server.',
    });
  }

  async close(): Promise<void> {
    this.#held.clear();
    await this.#api.close();
  }

  /** Nothing is said to it from now on: that would wake it. */
  async #rest(box: Box, signal: AbortSignal): Promise<void> {
    const { name = '', delete_after_stop_seconds: seconds } = box;
    if (seconds === EPHEMERAL_SECONDS) {
      throw new SubletError('UNSUPPORTED', `The sandbox ${name} is ephemeral: it is gone when it stops.`, {
        hint: 'Use a session, whose sandbox can be stopped and started.',
      });
    }
    const { shell } = this.#hold(box, undefined);
    shell.rest();
    await this.#api.stop(name, signal).catch((error: unknown) => {
      shell.wake();
      throw error;
    });
  }

  #handle(box: Box, env: SandboxSpec['env']): SandboxHandle {
    const { commands, shell } = this.#hold(box, env);
    const { cwd } = this.#config;
    const idleMs = idleMsOf(box);
    return {
      ref: { name: box.name ?? '' },
      state: stateOf(box),
      network: networkOf(box),
      workdir: cwd,
      deadManAt: idleMs === undefined ? undefined : shell.usedAt + idleMs,
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), cwd),
      close: () => Promise.resolve(),
    };
  }

  #hold(box: Box, given: SandboxSpec['env']): Held {
    const { name = '', id = '' } = box;
    const { clock } = this.#context;
    const held =
      this.#held.find(name, id, given) ??
      this.#held.keep(name, id, given, (env) => {
        const usedAt = createdAt(box) ?? clock.now();
        const hasSockets = this.#hasSockets;
        const shell = new BoxShell({ api: this.#api, clock, name, id, usedAt, hasSockets });
        const options = { clock, shell, workdir: this.#config.cwd, hasTerminals: hasSockets, env };
        return { shell, commands: createLangsmithCommands(options) };
      });
    if (isResting(box)) held.shell.rest();
    if (stateOf(box) === 'running') held.shell.wake();
    return held;
  }
}
