/** All sandboxes of the service, by the ids it gave out. */
import { randomBytes } from 'node:crypto';
import type { SandboxOptions, Sublet } from '../../core/api.ts';
import type { Clock } from '../../core/clock.ts';
import type { SandboxKind } from '../../core/session-key.ts';
import { E2bRefusal } from './e2b-refusal.ts';
import { type SandboxFacts, ServedSandbox } from './served-sandbox.ts';

/** What a template's name stands for here. */
export interface Template extends Omit<SandboxOptions, 'env' | 'signal'> {
  readonly kind?: SandboxKind | undefined;
}

export interface ServedSandboxesOptions {
  readonly sublet: Sublet;
  readonly clock: Clock;
  readonly templates: Readonly<Record<string, Template>>;
}

export interface NewServedSandbox extends Pick<
  SandboxFacts,
  'templateId' | 'metadata' | 'envVars' | 'onTimeout' | 'keepsMemory' | 'allowInternetAccess'
> {
  readonly timeoutMs: number;
}

/** The service ends its sandboxes by their own time; Sublet's idle time is not theirs. */
const POLICY = { autoStopMinutes: 0, autoDeleteMinutes: 0, onExit: 'destroy', onLost: 'fail' } as const;

export class ServedSandboxes {
  readonly #options: ServedSandboxesOptions;
  readonly #sandboxes = new Map<string, ServedSandbox>();
  #lastStartedAt = 0;

  constructor(options: ServedSandboxesOptions) {
    this.#options = options;
  }

  all(): readonly ServedSandbox[] {
    return [...this.#sandboxes.values()];
  }

  find(id: string): ServedSandbox | undefined {
    // Older clients append the id of a machine.
    return this.#sandboxes.get(id) ?? this.#sandboxes.get(id.split('-')[0] ?? '');
  }

  async create(wanted: NewServedSandbox): Promise<ServedSandbox> {
    const { sublet, clock, templates } = this.#options;
    const template = Object.hasOwn(templates, wanted.templateId) ? templates[wanted.templateId] : undefined;
    if (template === undefined) throw new E2bRefusal(404, `template '${wanted.templateId}' not found`);
    const id = `i${randomBytes(10).toString('hex').slice(0, 19)}`;
    const { kind, policy, ...options } = template;
    const session = await sublet.session({
      ...options,
      kind,
      user: 'e2b',
      task: id,
      env: wanted.envVars,
      policy: { ...POLICY, ...policy },
      ...networkFor(wanted.allowInternetAccess),
    });
    // No two at the same instant, so that of two sandboxes it is always known which was first.
    const startedAt = Math.max(clock.now(), this.#lastStartedAt + 1);
    this.#lastStartedAt = startedAt;
    const sandbox = new ServedSandbox({
      sublet,
      clock,
      session,
      facts: { ...wanted, id, startedAt, token: randomBytes(24).toString('hex') },
      endAt: startedAt + wanted.timeoutMs,
      onEnd: (ended) => void this.#end(ended).catch(() => undefined),
    });
    this.#sandboxes.set(id, sandbox);
    return sandbox;
  }

  /** False when there is none. */
  async kill(id: string, cause = 'killed by its user'): Promise<boolean> {
    const sandbox = this.find(id);
    if (sandbox === undefined) return false;
    this.#sandboxes.delete(sandbox.facts.id);
    try {
      await sandbox.destroy(cause);
    } catch (error) {
      // It may still be there: whoever asks again gets another try.
      this.#sandboxes.set(sandbox.facts.id, sandbox);
      throw error;
    }
    return true;
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#sandboxes.keys()].map((id) => this.kill(id, 'the server ended')));
  }

  async #end(sandbox: ServedSandbox): Promise<void> {
    const { onTimeout, keepsMemory, id } = sandbox.facts;
    if (onTimeout === 'pause') await sandbox.pause(keepsMemory);
    else await this.kill(id, 'its time was over');
  }
}

/** What is not asked for is as the template says. */
function networkFor(allowInternetAccess: boolean | null): Pick<SandboxOptions, 'network'> {
  if (allowInternetAccess === null) return {};
  return { network: allowInternetAccess ? 'open' : 'none' };
}
