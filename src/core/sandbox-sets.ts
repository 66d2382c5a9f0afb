/** Several sandboxes of one session: at most so many for each runtime, the most recently used one first. */
import type { LeaseTerms, SandboxOptions } from './options.ts';
import type { SandboxId } from './ids.ts';
import type { SessionKey, SessionKeyInput } from './session-key.ts';
import type { SandboxState } from './states.ts';

export const DEFAULT_MAX_PER_RUNTIME = 3;

export interface SandboxSetOptions extends Omit<SessionKeyInput, 'member'> {
  /** How many there may be of each runtime. Default 3. */
  readonly maxPerRuntime?: number | undefined;
}

export interface SetSandboxOptions extends SandboxOptions {
  /** What it is for, in the caller's words: `python`, `node`. Each has sandboxes of its own. */
  readonly runtime?: string | undefined;
  /** One that nobody has used. Where there is no room, the one that was not used for longest makes way. */
  readonly fresh?: boolean | undefined;
  /** Nobody else uses it until it is released: one that somebody has is passed over. */
  readonly exclusive?: boolean | LeaseTerms | undefined;
}

/** One place of a set, and what is in it. */
export interface SetPlace {
  readonly key: SessionKey;
  readonly runtime: string;
  readonly slot: number;
  readonly sandboxId: SandboxId;
  readonly state: SandboxState;
  readonly lastActiveAt: number;
}
