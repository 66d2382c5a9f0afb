/** AgentBay's actions. What may be asked again is; a create, a command and a change of state never are. */
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { Labels, SandboxMetrics } from '../../core/spec.ts';
import type { ShellAnswer } from '../../provider/posix/inside/called-process.ts';
import { lookUntil } from '../../provider/service/look-until.ts';
import { isNotFound } from '../../provider/service/service-errors.ts';
import type { AgentBayConfig } from './agentbay-config.ts';
import { AgentBayWire, type Fields } from './agentbay-wire.ts';
import type { BaySession } from './session-facts.ts';
import { metricsIn, shellAnswerIn, shellCommand, type ToolResult } from './tool-results.ts';

/** A command that is not told ends after one second; none may take longer than this. */
export const MAX_EXEC_MS = 50_000;
/** A machine is started before it is answered. */
const CREATE_TIMEOUT_MS = 120_000;
const PAGE_SIZE = 100;
/** How many labels are asked for at once. */
const AT_ONCE = 8;
/** A context that takes longer than some minutes is stuck. */
const SYNC_LOOKS = 300;

interface ContextTask {
  readonly contextId?: string;
  readonly status?: string;
  readonly taskType?: string;
  readonly errorMessage?: string;
}

export class AgentBayApi {
  readonly #config: AgentBayConfig;
  readonly #clock: Clock;
  readonly #wire: AgentBayWire;

  constructor(config: AgentBayConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#wire = new AgentBayWire(config);
  }

  /** The new session's id. */
  async create(wanted: Fields): Promise<string> {
    const { data } = await this.#wire.ask<{ SessionId?: string; Success?: boolean; ErrMsg?: string }>(
      'CreateMcpSession',
      wanted,
      { timeoutMs: CREATE_TIMEOUT_MS },
    );
    if (data.Success !== false && data.SessionId !== undefined) return data.SessionId;
    throw new SubletError('CREATE_FAILED', `AgentBay: ${data.ErrMsg ?? 'The answer names no session.'}`, {
      hint: 'Check the image, the policy and the region of the profile.',
    });
  }

  /** SANDBOX_NOT_FOUND when there is none. */
  async get(id: string, signal: AbortSignal): Promise<BaySession> {
    const [{ data }, labels] = await Promise.all([
      this.#wire.ask<{ Status?: string; PolicyId?: string } | null>(
        'GetSessionDetail',
        { SessionId: id },
        { signal, isSafe: true },
      ),
      this.#labels(id, signal),
    ]);
    const policyId = data?.PolicyId;
    return {
      id,
      status: data?.Status ?? 'UNKNOWN',
      labels,
      policyId: policyId === undefined || policyId === '' ? undefined : policyId,
    };
  }

  /** Every page of those that carry the labels. */
  async *list(labels: Labels, signal: AbortSignal): AsyncGenerator<BaySession> {
    let token: string | undefined;
    do {
      const fields = { Labels: JSON.stringify(labels), MaxResults: PAGE_SIZE, NextToken: token };
      const page = await this.#wire.ask<readonly { SessionId: string; SessionStatus?: string }[] | null>(
        'ListSession',
        fields,
        { signal, isSafe: true },
      );
      const found = page.data ?? [];
      for (let at = 0; at < found.length; at += AT_ONCE) {
        yield* await Promise.all(
          found.slice(at, at + AT_ONCE).map(async ({ SessionId: id, SessionStatus: status = 'UNKNOWN' }) => {
            const own = await this.#labels(id, signal).catch(orGone);
            return { id, status: own === undefined ? 'DELETED' : status, labels: own ?? {}, policyId: undefined };
          }),
        );
      }
      token = page.nextToken;
    } while (token !== undefined);
  }

  /** Returns when the service has begun. One that is paused is refused. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#wire.ask('DeleteSessionAsync', { SessionId: id }, { signal });
  }

  /** In place of those it had. */
  async setLabels(id: string, labels: Labels): Promise<void> {
    await this.#wire.ask('SetLabel', { SessionId: id, Labels: JSON.stringify(labels) }, { isSafe: true });
  }

  async pause(id: string, signal: AbortSignal): Promise<void> {
    await this.#wire.ask('PauseSessionAsync', { SessionId: id }, { signal });
  }

  async resume(id: string, signal: AbortSignal): Promise<void> {
    await this.#wire.ask('ResumeSessionAsync', { SessionId: id }, { signal });
  }

  /** Its idle time begins anew. */
  async keepAlive(id: string, signal: AbortSignal): Promise<void> {
    await this.#wire.ask('RefreshSessionIdleTime', { SessionId: id }, { signal });
  }

  async link(id: string, port: number, signal: AbortSignal): Promise<string> {
    const fields = { SessionId: id, ProtocolType: 'https', Port: port };
    const { data } = await this.#wire.ask<{ Url?: string } | null>('GetLink', fields, { signal });
    if (data?.Url !== undefined) return data.Url;
    throw new SubletError('PROVIDER_UNAVAILABLE', `AgentBay gave no link for port ${port}.`, { hint: 'Try again.' });
  }

  /** The id of the context of that name, which is made if there is none. */
  async contextId(name: string, signal: AbortSignal): Promise<string> {
    const fields = { Name: name, AllowCreate: 'true', LoginRegionId: this.#config.region };
    const { data } = await this.#wire.ask<{ Id?: string } | null>('GetContext', fields, { signal, isSafe: true });
    if (data?.Id !== undefined) return data.Id;
    throw new SubletError('CREATE_FAILED', `AgentBay gave no context for "${name}".`, {
      hint: 'Look at the contexts of the account in the console.',
    });
  }

  /** Brings what the session has of its contexts to where they are kept, and waits until that is done. */
  async upload(id: string, signal: AbortSignal): Promise<void> {
    await this.#wire.ask('SyncContext', { SessionId: id, Mode: 'upload' }, { signal });
    await this.contextsSettled(id, signal);
  }

  /** When the files of every context of the session are where they should be. */
  async contextsSettled(id: string, signal: AbortSignal): Promise<void> {
    const look = async (): Promise<readonly ContextTask[] | undefined> => {
      const fields = { SessionId: id };
      const { data } = await this.#wire.ask<{ ContextStatus?: string } | null>('GetContextInfo', fields, {
        signal,
        isSafe: true,
      });
      const tasks = tasksIn(data?.ContextStatus);
      return tasks.every(({ status }) => status === 'Success' || status === 'Failed') ? tasks : undefined;
    };
    const tasks = await lookUntil(this.#clock, look, signal, SYNC_LOOKS);
    const failed = tasks?.find(({ status }) => status === 'Failed');
    if (tasks !== undefined && failed === undefined) return;
    const reason = failed === undefined ? 'it takes too long' : failed.errorMessage || 'no reason given';
    throw new SubletError('PROVIDER_UNAVAILABLE', `AgentBay did not bring the files of a context: ${reason}.`, {
      hint: 'Try again; look at the context in the console.',
    });
  }

  /** Runs a script. What is answered is text, so the script writes text. */
  async execute(id: string, script: string, env: Readonly<Record<string, string>>): Promise<ShellAnswer> {
    const envs = Object.keys(env).length === 0 ? {} : { envs: env };
    const args = { command: shellCommand(script), timeout_ms: MAX_EXEC_MS, ...envs };
    return shellAnswerIn(await this.#callTool(id, 'shell', args));
  }

  async metrics(id: string, signal: AbortSignal): Promise<SandboxMetrics> {
    return metricsIn(await this.#callTool(id, 'get_metrics', {}, signal));
  }

  async #callTool(id: string, name: string, args: unknown, signal?: AbortSignal): Promise<ToolResult> {
    const fields = { SessionId: id, Name: name, Args: JSON.stringify(args), Server: '', AutoGenSession: 'false' };
    return (await this.#wire.ask<ToolResult>('CallMcpTool', fields, { signal })).data;
  }

  async #labels(id: string, signal: AbortSignal): Promise<Labels> {
    const { data } = await this.#wire.ask<{ Labels?: string } | null>(
      'GetLabel',
      { SessionId: id },
      { signal, isSafe: true },
    );
    return data?.Labels === undefined || data.Labels === '' ? {} : (JSON.parse(data.Labels) as Labels);
  }
}

function orGone(error: unknown): undefined {
  if (isNotFound(error)) return undefined;
  throw error;
}

/** A list in JSON, each of whose entries of the type "data" is a list in JSON again. */
function tasksIn(status: string | undefined): readonly ContextTask[] {
  if (status === undefined || status === '') return [];
  const items = JSON.parse(status) as readonly { readonly type?: string; readonly data?: string }[];
  return items.flatMap(({ type, data }) => (type === 'data' ? (JSON.parse(data ?? '[]') as ContextTask[]) : []));
}
