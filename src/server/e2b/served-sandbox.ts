/** One sandbox of the service: the session behind it, its time, and what runs in it. */
import type { Session, Sublet } from '../../core/api.ts';
import type { Clock } from '../../core/clock.ts';
import { FilesystemService } from './filesystem-service.ts';
import { ProcessService } from './process-service.ts';
import { MetricsGauge } from './sandbox-metrics.ts';

export interface SandboxFacts {
  readonly id: string;
  readonly templateId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly envVars: Readonly<Record<string, string>>;
  readonly startedAt: number;
  /** What lets a caller into it. */
  readonly token: string;
  readonly onTimeout: 'kill' | 'pause';
  /** Whether a pause at the end of its time keeps the memory. */
  readonly keepsMemory: boolean;
  /** null when nobody said. */
  readonly allowInternetAccess: boolean | null;
}

export interface ServedSandboxOptions {
  readonly sublet: Sublet;
  readonly clock: Clock;
  readonly facts: SandboxFacts;
  readonly session: Session;
  readonly endAt: number;
  /** Its time is over. */
  onEnd(sandbox: ServedSandbox): void;
}

export class ServedSandbox {
  readonly facts: SandboxFacts;
  readonly session: Session;
  readonly processes: ProcessService;
  readonly filesystem: FilesystemService;
  readonly gauge: MetricsGauge = new MetricsGauge();
  readonly #options: ServedSandboxOptions;
  #state: 'running' | 'paused' = 'running';
  #endAt: number;
  #allowInternetAccess: boolean | null;
  #cancel: () => void = () => undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: ServedSandboxOptions) {
    const { session, clock, facts } = options;
    this.#options = options;
    this.facts = facts;
    this.session = session;
    this.#allowInternetAccess = facts.allowInternetAccess;
    this.processes = new ProcessService({ clock, commands: session.commands, envs: facts.envVars });
    this.filesystem = new FilesystemService(session.files, clock);
    this.#endAt = options.endAt;
    this.#schedule();
  }

  get state(): 'running' | 'paused' {
    return this.#state;
  }

  get endAt(): number {
    return this.#endAt;
  }

  get allowInternetAccess(): boolean | null {
    return this.#allowInternetAccess;
  }

  setEnd(at: number): void {
    this.#endAt = at;
    this.#schedule();
  }

  /** False when it is paused already. */
  pause(keepsMemory: boolean): Promise<boolean> {
    return this.#inTurn(async () => {
      if (this.#state === 'paused') return false;
      const { sandboxes } = this.#options.sublet;
      // From now on nobody gets in: a use would wake it.
      this.#state = 'paused';
      this.#cancel();
      try {
        if (keepsMemory) await sandboxes.pause(this.session.sandboxId, 'paused by its user');
        else {
          await this.processes.killAll();
          await sandboxes.stop(this.session.sandboxId, 'paused by its user');
        }
      } catch (cause) {
        this.#state = 'running';
        this.#schedule();
        throw cause;
      }
      return true;
    });
  }

  /** False when it runs already. */
  resume(endAt: number): Promise<boolean> {
    return this.#inTurn(async () => {
      if (this.#state === 'running') return false;
      await this.#options.sublet.sandboxes.resume(this.session.sandboxId, 'resumed by its user');
      this.#state = 'running';
      this.setEnd(endAt);
      return true;
    });
  }

  cutNetwork(): Promise<void> {
    return this.#inTurn(async () => {
      await this.session.setNetwork('none', 'asked for by its user');
      this.#allowInternetAccess = false;
    });
  }

  destroy(cause: string): Promise<void> {
    this.#cancel();
    this.filesystem.close();
    return this.#inTurn(async () => {
      await this.#options.sublet.sandboxes.destroy(this.session.sandboxId, cause);
      await this.session.release();
    });
  }

  #schedule(): void {
    this.#cancel();
    if (this.#state === 'paused') return;
    const { clock } = this.#options;
    this.#cancel = clock.schedule(Math.max(0, this.#endAt - clock.now()), () => this.#options.onEnd(this));
  }

  /** A pause and a resume at the same time happen one after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work, work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}
