/** Makes sandboxes: one for a name, also when an answer is lost or the caller gives up. */
import { abortedError, SubletError } from '../../core/errors.ts';
import type { ProviderLog } from '../../provider/define-provider.ts';
import { PendingCreates } from '../../provider/pending-creates.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { abortable } from '../../provider/abortable.ts';
import type { DaytonaApi, DaytonaBox, NewBox } from './daytona-api.ts';
import type { DaytonaConfig } from './daytona-config.ts';
import { isGone } from './daytona-errors.ts';
import { shellWords } from './shell-words.ts';

/** A label on everything of ours. Its value is the working directory where that is not the sandbox's own. */
export const MARK = 'sublet.daytona';
/** Where a volume is when no working directory is named. */
const VOLUME_PATH = '/home/daytona/volume';
const MINUTE_MS = 60_000;

type Until = (id: string, isDone: (box: DaytonaBox) => boolean, signal: AbortSignal) => Promise<DaytonaBox>;

export class BoxMaker {
  readonly #api: DaytonaApi;
  readonly #config: DaytonaConfig;
  readonly #log: ProviderLog;
  readonly #until: Until;
  readonly #pending = new PendingCreates();

  constructor(api: DaytonaApi, config: DaytonaConfig, log: ProviderLog, until: Until) {
    this.#api = api;
    this.#config = config;
    this.#log = log;
    this.#until = until;
  }

  /** Rejects when the signal aborts, after what was made by then has been removed again. */
  make(spec: SandboxSpec, signal: AbortSignal): Promise<DaytonaBox> {
    return this.#pending.track(spec.name, this.#make(spec, signal));
  }

  /** When no create of this process is on its way to the service any more. */
  settled(name: string): Promise<void> {
    return this.#pending.settled(name);
  }

  async #make(spec: SandboxSpec, signal: AbortSignal): Promise<DaytonaBox> {
    const wanted = await this.#wanted(spec, signal);
    const { box, isNew } = await this.#createOrFind(wanted);
    try {
      if (signal.aborted) throw abortedError(signal);
      const ready = await this.#ready(box, signal);
      const workdir = wanted.labels[MARK];
      if (isNew && workdir?.startsWith('/') === true)
        await abortable(ready.execute(shellWords(`mkdir -p -- ${shellQuote(workdir)}`), {}), signal);
      return ready;
    } catch (error) {
      if (isNew) await this.#undo(box);
      throw error;
    }
  }

  async #wanted(spec: SandboxSpec, signal: AbortSignal): Promise<NewBox> {
    const { snapshot, user, resources, cwd, autoArchiveMinutes, autoDeleteMinutes } = this.#config;
    const path = cwd ?? VOLUME_PATH;
    const volumes =
      spec.contextId === undefined
        ? []
        : [{ volumeId: await this.#api.volumeId(volumeName(spec.contextId), signal), mountPath: path }];
    return {
      name: spec.name,
      labels: { ...spec.labels, [MARK]: volumes.length > 0 ? path : (cwd ?? '-') },
      image: spec.image,
      snapshot,
      user,
      resources,
      autoStop: spec.deadManMs === undefined ? 0 : Math.max(1, Math.ceil(spec.deadManMs / MINUTE_MS)),
      autoArchive: autoArchiveMinutes,
      // What nobody comes back to is deleted when it stops.
      autoDelete: spec.ephemeral ? 0 : autoDeleteMinutes,
      networkBlockAll: spec.network !== 'open',
      volumes,
    };
  }

  /** Asked once. When the answer does not say whether it was made, the name does. */
  async #createOrFind(wanted: NewBox): Promise<{ readonly box: DaytonaBox; readonly isNew: boolean }> {
    try {
      return { box: await this.#api.create(wanted), isNew: true };
    } catch (error) {
      const isTaken = SubletError.is(error, 'STATE_CONFLICT');
      if (!isTaken && !SubletError.is(error, 'PROVIDER_UNAVAILABLE')) throw error;
      const found = await this.#api.get(wanted.name).catch((cause: unknown) => {
        if (isGone(cause) || !isTaken) throw error;
        throw cause;
      });
      if (found.labels[MARK] === undefined) throw error;
      return { box: found, isNew: !isTaken };
    }
  }

  async #ready(box: DaytonaBox, signal: AbortSignal): Promise<DaytonaBox> {
    if (box.state === 'started') return box;
    if (['stopped', 'archived', 'paused'].includes(box.state)) await abortable(box.start(), signal);
    return this.#until(box.id, ({ state }) => state === 'started', signal);
  }

  async #undo(box: DaytonaBox): Promise<void> {
    await box.remove().catch((error: unknown) => {
      if (!isGone(error)) this.#log.warn({ name: box.name, error: String(error) }, 'a failed create was not removed');
    });
  }
}

/** Names of volumes have few characters; different contexts never share one. */
function volumeName(contextId: string): string {
  const escaped = encodeURIComponent(contextId).replaceAll(
    /[^A-Za-z0-9-]/g,
    (character) => `_${character.charCodeAt(0).toString(16)}`,
  );
  return `sublet-${escaped}`;
}
