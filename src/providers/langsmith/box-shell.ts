/**
 * The inside of one sandbox: scripts, files and terminals. A stopped sandbox wakes when it is spoken to, so nothing is said to
 * one that is known to rest, and a broken connection is taken up again only after the service says that it still runs.
 */
import { randomUUID } from 'node:crypto';
import type { CommandHandle, Sandbox } from 'langsmith/sandbox';
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { ShellAnswer } from '../../provider/posix/inside/called-process.ts';
import { isNotFound, lostError } from '../../provider/service/service-errors.ts';
import { isResting } from './box-facts.ts';
import type { LangsmithApi } from './langsmith-api.ts';
import { isBroken, restingError, TITLE, toLangsmithError } from './langsmith-errors.ts';

type Variables = Readonly<Record<string, string>>;

export interface BoxShellOptions {
  readonly api: LangsmithApi;
  readonly name: string;
  readonly id: string;
  readonly clock: Clock;
  readonly usedAt: number;
  /** Commands stream through WebSockets. Otherwise each is a request that waits for its end. */
  readonly hasSockets: boolean;
}

/** A command whose client is gone for longer is ended, and so is what is kept of one that ended. */
const KEPT_SECONDS = 60;
/** Without a WebSocket a command is one request, and the service wants to know how long it may take. */
const WAITING_SECONDS = 3600;
/** So often a command is asked for again when it is not known to have begun. Its id makes sure that it begins once. */
const START_TRIES = 3;
const LOOK_MS = 10_000;
const SHELL = '/bin/sh';

export class BoxShell {
  /** When it was last used, as far as this process knows: LangSmith does not say. */
  usedAt: number;
  readonly #options: BoxShellOptions;
  #sandbox: Promise<Sandbox> | undefined;
  #isResting = false;

  constructor(options: BoxShellOptions) {
    this.#options = options;
    this.usedAt = options.usedAt;
  }

  /** Nothing is said to it until it is woken. */
  rest(): void {
    this.#isResting = true;
  }

  wake(): void {
    this.#isResting = false;
  }

  /** Runs a script. Its output is text: what must arrive byte for byte is encoded inside. */
  call(script: string, env: Variables): Promise<ShellAnswer> {
    return this.#using(async (sandbox) => {
      const { exit_code: exitCode, stdout } = this.#options.hasSockets
        ? await (
            await this.#start(sandbox, script, env, false)
          ).result
        : await sandbox.run(script, { shell: SHELL, timeout: WAITING_SECONDS, runConfig: { env_vars: { ...env } } });
      return { exitCode, output: stdout };
    });
  }

  async upload(path: string, bytes: Uint8Array): Promise<void> {
    await this.#using((sandbox) => sandbox.write(path, bytes));
  }

  openTerminal(script: string, env: Variables): Promise<CommandHandle> {
    return this.#using((sandbox) => this.#start(sandbox, script, env, true));
  }

  /** By itself the SDK asks again only when it was not heard. */
  async #start(sandbox: Sandbox, script: string, env: Variables, pty: boolean): Promise<CommandHandle> {
    const commandId = randomUUID();
    const options = { shell: SHELL, timeout: 0, idleTimeout: KEPT_SECONDS, ttlSeconds: KEPT_SECONDS, pty, commandId };
    for (let tries = 1; ; tries++) {
      try {
        return await sandbox.run(script, { ...options, wait: false, runConfig: { env_vars: { ...env } } });
      } catch (error) {
        if (!isBroken(error) || tries === START_TRIES) throw error;
        await this.#assertAwake(error);
      }
    }
  }

  async #using<T>(use: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    const { clock, name } = this.#options;
    if (this.#isResting) throw restingError(name);
    this.usedAt = clock.now();
    try {
      return await use(await this.#open());
    } catch (cause) {
      throw await this.#explain(cause);
    } finally {
      this.usedAt = clock.now();
    }
  }

  #open(): Promise<Sandbox> {
    this.#sandbox ??= this.#options.api.inside(this.#options.name).then(
      (sandbox) => {
        const reconnect = sandbox.reconnect.bind(sandbox);
        sandbox.reconnect = async (id, options) => {
          await this.#assertAwake();
          return reconnect(id, options);
        };
        return sandbox;
      },
      (error: unknown) => {
        this.#sandbox = undefined;
        throw error;
      },
    );
    return this.#sandbox;
  }

  async #assertAwake(cause?: unknown): Promise<void> {
    const { api, name, id } = this.#options;
    const box = await api.get(name, AbortSignal.timeout(LOOK_MS)).catch((error: unknown) => {
      throw isNotFound(error) ? lostError(TITLE, name, cause ?? error) : error;
    });
    if (box.id !== id) throw lostError(TITLE, name, cause);
    if (isResting(box)) this.rest();
    if (this.#isResting) throw restingError(name, cause);
  }

  /** What manages sandboxes knows whether it is the sandbox: only its word makes a loss. */
  async #explain(cause: unknown): Promise<SubletError> {
    const error = toLangsmithError(cause);
    if (!SubletError.is(error, 'PROVIDER_UNAVAILABLE') && !isNotFound(error)) return error;
    try {
      await this.#assertAwake(cause);
    } catch (found) {
      if (SubletError.is(found) && found.code !== 'PROVIDER_UNAVAILABLE' && found.code !== 'ABORTED') return found;
    }
    if (!isNotFound(error)) return error;
    return new SubletError('PROVIDER_UNAVAILABLE', 'LangSmith has the sandbox, and does not find the way to it.', {
      cause,
      hint: 'Try again.',
    });
  }
}
