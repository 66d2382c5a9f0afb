/** What is asked of Daytona for a sandbox, and what its answers say. */
import { SubletError } from '../../core/errors.ts';
import type { NetworkFact } from '../../core/network.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { ListedSandbox, ProviderState, SandboxSpec } from '../../provider/provider.ts';
import type { SandboxService, WantedSandboxes } from '../../provider/service/sandbox-service.ts';
import type { DaytonaApi, DaytonaBox, NewBox } from './daytona-api.ts';
import type { DaytonaConfig } from './daytona-config.ts';

/** A label on everything of ours. Its value is the working directory where that is not the sandbox's own. */
const MARK = 'sublet.daytona';
/** Where a volume is when no working directory is named. */
const VOLUME_PATH = '/home/daytona/volume';
export const MINUTE_MS = 60_000;

export class DaytonaService implements SandboxService<DaytonaBox> {
  readonly title = 'Daytona';
  readonly hasUniqueNames = true;
  readonly #api: DaytonaApi;
  readonly #config: DaytonaConfig;

  constructor(api: DaytonaApi, config: DaytonaConfig) {
    this.#api = api;
    this.#config = config;
  }

  idOf({ id }: DaytonaBox): string {
    return id;
  }

  read({ id, name, labels: all, state, createdAt }: DaytonaBox): ListedSandbox | undefined {
    const { [MARK]: mark, ...labels } = all;
    if (mark === undefined || state === 'destroyed') return undefined;
    return { ref: { name, providerId: id }, labels, state: toState(state), createdAt };
  }

  failure({ name, state, reason }: DaytonaBox): SubletError | undefined {
    if (!['error', 'build_failed', 'destroyed'].includes(state)) return undefined;
    const said = `Daytona says that ${name} is in the state "${state}": ${reason ?? 'no reason'}.`;
    return new SubletError('CREATE_FAILED', said, {
      hint: 'Look at its image or snapshot and its logs in the dashboard.',
    });
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<DaytonaBox> {
    return this.#api.create(await this.#wanted(spec, signal));
  }

  get(idOrName: string): Promise<DaytonaBox> {
    return this.#api.get(idOrName);
  }

  list({ labels = {} }: WantedSandboxes): AsyncIterable<DaytonaBox> {
    return this.#api.list(labels);
  }

  async wake(id: string): Promise<void> {
    await (await this.#api.get(id)).start();
  }

  async remove(id: string): Promise<'begun'> {
    const box = await this.#api.get(id);
    await box.remove().catch((error: unknown) => {
      if (box.state !== 'destroying') throw error;
    });
    return 'begun';
  }

  async prepare(box: DaytonaBox): Promise<void> {
    const workdir = fixedWorkdir(box);
    if (workdir !== undefined) await box.execute(`mkdir -p -- ${shellQuote(workdir)}`, {});
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
}

export function toState(state: string): ProviderState {
  if (state === 'started') return 'running';
  if (state === 'paused') return 'paused';
  return ['stopped', 'archived', 'archiving'].includes(state) ? 'stopped' : 'unknown';
}

/** The working directory that it was made with; undefined: its own. */
export function fixedWorkdir({ labels: { [MARK]: mark } }: DaytonaBox): string | undefined {
  return mark?.startsWith('/') === true ? mark : undefined;
}

/** Only what the service says: an answer without it says nothing. */
export function networkOf({ networkBlockAll }: DaytonaBox): NetworkFact {
  if (networkBlockAll === undefined) return 'unknown';
  return networkBlockAll ? 'none' : 'open';
}

export function deadManOf({ autoStop, lastActiveAt }: DaytonaBox): number | undefined {
  if (autoStop === undefined || autoStop === 0 || lastActiveAt === undefined) return undefined;
  return lastActiveAt + autoStop * MINUTE_MS;
}

/** Names of volumes have few characters; different contexts never share one. */
function volumeName(contextId: string): string {
  const escaped = encodeURIComponent(contextId).replaceAll(
    /[^A-Za-z0-9-]/g,
    (character) => `_${character.charCodeAt(0).toString(16)}`,
  );
  return `sublet-${escaped}`;
}
