/** What an adapter tells of its service, in the service's own answers (`Box`). Everything rejects with errors of the table. */
import type { SubletError } from '../../core/errors.ts';
import type { Labels } from '../../core/spec.ts';
import type { ListedSandbox, SandboxSpec } from '../provider.ts';

export interface SandboxService<Box> {
  /** As errors call it. */
  readonly title: string;
  /**
   * The service refuses a second sandbox of a name with STATE_CONFLICT, and `get` takes names too. Otherwise the name is a
   * label, and of several that carry the same one the oldest is it, or the one that was claimed.
   */
  readonly hasUniqueNames: boolean;
  /** For a service that does not tell when a sandbox was there for others to see: whoever made it alone says that it is it. */
  readonly claims?: SandboxClaims<Box> | undefined;
  idOf(box: Box): string;
  /** undefined: it is not ours, or only its record is left. */
  read(box: Box): ListedSandbox | undefined;
  /** Why it will neither run nor rest any more. */
  failure(box: Box): SubletError | undefined;
  /**
   * Asks once, and returns when the service has begun. PROVIDER_UNAVAILABLE when it may have been made all the same. The
   * signal ends what comes before the asking, and not the asking: what it brings would not be known.
   */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<Box>;
  /** As the service knows it now, which wakes nothing. SANDBOX_NOT_FOUND when there is none. */
  get(idOrName: string, signal: AbortSignal): Promise<Box>;
  /** Every page of what may be wanted; fewer where the service can choose. */
  list(wanted: WantedSandboxes, signal: AbortSignal): AsyncIterable<Box>;
  /** Begins to start what rests. */
  wake(id: string, signal: AbortSignal): Promise<void>;
  /** Whether it is gone with the answer. SANDBOX_NOT_FOUND is good news. */
  remove(id: string, signal: AbortSignal): Promise<'gone' | 'begun'>;
  /** What is to be done inside before it is used. Once more is harmless. */
  prepare?(box: Box, signal: AbortSignal): Promise<void>;
}

export interface SandboxClaims<Box> {
  isClaimed(box: Box): boolean;
  claim(box: Box): Promise<void>;
}

export interface WantedSandboxes {
  readonly name?: string | undefined;
  readonly labels?: Labels | undefined;
}
