/** Sessions as sandboxes. AgentBay does not know our names: each session carries its own as a label. */
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { ProviderLog } from '../../provider/define-provider.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { ListedSandbox, SandboxSpec } from '../../provider/provider.ts';
import { lookUntil } from '../../provider/service/look-until.ts';
import type { SandboxClaims, SandboxService, WantedSandboxes } from '../../provider/service/sandbox-service.ts';
import type { AgentBayApi } from './agentbay-api.ts';
import type { AgentBayConfig } from './agentbay-config.ts';
import {
  type BaySession,
  claimed,
  contextOf,
  isClaimed,
  isOver,
  NAME,
  readSession,
  toSession,
} from './session-facts.ts';

export interface AgentBayServiceOptions {
  readonly api: AgentBayApi;
  readonly config: AgentBayConfig;
  readonly clock: Clock;
  readonly log: ProviderLog;
}

export class AgentBayService implements SandboxService<BaySession> {
  readonly title = 'AgentBay';
  readonly hasUniqueNames = false;
  readonly claims: SandboxClaims<BaySession> = {
    isClaimed,
    claim: (session) => this.#options.api.setLabels(session.id, claimed(session)),
  };
  readonly #options: AgentBayServiceOptions;

  constructor(options: AgentBayServiceOptions) {
    this.#options = options;
  }

  idOf({ id }: BaySession): string {
    return id;
  }

  read(session: BaySession): ListedSandbox | undefined {
    return readSession(session);
  }

  failure(session: BaySession): SubletError | undefined {
    if (!isOver(session)) return undefined;
    return new SubletError('CREATE_FAILED', `The session ${session.id} is in the state "${session.status}".`, {
      hint: 'Look at it in the console.',
    });
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<BaySession> {
    const { api, config, clock } = this.#options;
    const contextId = spec.contextId === undefined ? undefined : await api.contextId(spec.contextId, signal);
    const wanted = toSession(spec, config, { contextId, now: clock.now() });
    const id = await api.create(wanted);
    const labels = JSON.parse(String(wanted['Labels'])) as BaySession['labels'];
    return { id, status: 'UNKNOWN', labels, policyId: undefined };
  }

  get(id: string, signal: AbortSignal): Promise<BaySession> {
    return this.#options.api.get(id, signal);
  }

  list({ name, labels = {} }: WantedSandboxes, signal: AbortSignal): AsyncIterable<BaySession> {
    return this.#options.api.list(name === undefined ? labels : { ...labels, [NAME]: name }, signal);
  }

  wake(id: string, signal: AbortSignal): Promise<void> {
    return this.#options.api.resume(id, signal);
  }

  /** What is paused is not deleted, so it runs first. What a context has is brought home before. */
  async remove(id: string, signal: AbortSignal): Promise<'begun'> {
    const { api, log } = this.#options;
    const session = await api.get(id, signal);
    if (session.status === 'PAUSED') await this.#run(id, signal);
    if (contextOf(session) !== undefined && session.status !== 'DELETING')
      await api
        .upload(id, signal)
        .catch((error: unknown) => log.warn({ id, error: String(error) }, 'a context was not brought home'));
    await api.remove(id, signal);
    return 'begun';
  }

  async prepare(session: BaySession, signal: AbortSignal): Promise<void> {
    const { api, config } = this.#options;
    if (contextOf(session) !== undefined) await api.contextsSettled(session.id, signal);
    const cwd = shellQuote(config.cwd);
    const { exitCode } = await api.execute(session.id, `mkdir -p -- ${cwd} && [ -w ${cwd} ]`, {});
    if (exitCode === 0) return;
    throw new SubletError('CREATE_FAILED', `Sessions of this image cannot write to ${config.cwd}.`, {
      hint: 'Set agentbay.cwd to a directory of the image’s user, such as /home/wuying.',
    });
  }

  async #run(id: string, signal: AbortSignal): Promise<void> {
    const { api, clock } = this.#options;
    await api.resume(id, signal);
    const look = async (): Promise<true | undefined> =>
      (await api.get(id, signal)).status === 'RUNNING' ? true : undefined;
    await lookUntil(clock, look, signal);
  }
}
