/** What the provider needs of Daytona, whichever way it is spoken to. Everything rejects with errors of the table. */
import type { Labels } from '../../core/spec.ts';
import type { ShellAnswer } from '../../provider/posix/inside/called-process.ts';
import type { TerminalChannel, TerminalRequest } from '../../provider/posix/inside/inside-terminal.ts';

export interface NewBox {
  readonly name: string;
  readonly labels: Labels;
  readonly image: string | undefined;
  readonly snapshot: string | undefined;
  readonly user: string | undefined;
  readonly resources: { readonly cpu?: number; readonly memory?: number; readonly disk?: number };
  /** Minutes. 0: never. */
  readonly autoStop: number;
  readonly autoArchive: number | undefined;
  /** Minutes after it has stopped. 0: at once; absent: never. */
  readonly autoDelete: number | undefined;
  readonly networkBlockAll: boolean;
  readonly volumes: readonly { readonly volumeId: string; readonly mountPath: string }[];
}

/** One sandbox as the service described it last. */
export interface DaytonaBox {
  readonly id: string;
  readonly name: string;
  /** The service's own word. */
  readonly state: string;
  readonly reason: string | undefined;
  readonly labels: Labels;
  readonly createdAt: number | undefined;
  readonly lastActiveAt: number | undefined;
  /** Minutes without use until it is stopped. 0: never. */
  readonly autoStop: number | undefined;
  /** Minutes after it has stopped. Negative: never. */
  readonly autoDelete: number | undefined;
  /** undefined: this answer did not say. */
  readonly networkBlockAll: boolean | undefined;
  /** These return when the service has begun. */
  start(): Promise<void>;
  stop(): Promise<void>;
  pause(): Promise<void>;
  remove(): Promise<void>;
  blockNetwork(): Promise<void>;
  /** From now on it is stopped after so many minutes without use, the first of which begins now. */
  setAutoStop(minutes: number): Promise<void>;
  previewUrl(port: number): Promise<string>;
  workdir(): Promise<string>;
  /** Runs a script with `sh`. */
  execute(script: string, env: Readonly<Record<string, string>>): Promise<ShellAnswer>;
  /** Replaces what is at the path; its directory is there. */
  upload(path: string, bytes: Uint8Array): Promise<void>;
  openTerminal?(request: TerminalRequest): Promise<TerminalChannel>;
}

export interface DaytonaApi {
  /** Variables of a command arrive apart from its words. */
  readonly passesEnv: boolean;
  /** Returns when the service has begun to make it. */
  create(wanted: NewBox): Promise<DaytonaBox>;
  /** SANDBOX_NOT_FOUND when there is none. */
  get(idOrName: string): Promise<DaytonaBox>;
  /** Every page. */
  list(labels: Labels): AsyncIterable<DaytonaBox>;
  /** The id of the volume of that name, which is made if there is none, when it is ready. */
  volumeId(name: string, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}
