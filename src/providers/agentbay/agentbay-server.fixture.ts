/** AgentBay on loopback, with real sandboxes behind it. It refuses what the service refuses. */
import { randomBytes } from 'node:crypto';
import type { Labels } from '../../core/spec.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { type BackingSandbox, BackingSandboxes } from '../../testing/loopback/backing-sandboxes.ts';
import type { FaultSwitchboard } from '../../testing/loopback/fault-switchboard.ts';
import { type LoopbackRequest, LoopbackServer } from '../../testing/loopback/loopback-server.ts';
import { ContextStore, type PersistenceData } from './agentbay-contexts.fixture.ts';
import { CodedRefusal, refusalBody } from './agentbay-refusal.fixture.ts';
import { SessionTools } from './agentbay-tools.fixture.ts';

type Form = Readonly<Record<string, string | undefined>>;
type Answer = { readonly Data?: unknown; readonly NextToken?: string; readonly TotalCount?: number };

/** The policies that this account has: the first allows no network. */
export const NO_NETWORK = 'policy-nothing';
const POLICIES: readonly string[] = [NO_NETWORK, 'policy-own'];
const REGIONS: readonly string[] = ['ap-southeast-1', 'cn-shanghai', 'cn-hangzhou'];
const STATUSES: readonly string[] = ['RUNNING', 'PAUSING', 'PAUSED', 'RESUMING', 'DELETING', 'DELETED'];
const VERSION = '2025-05-06';

export class AgentBayServer {
  readonly sandboxes: BackingSandboxes;
  readonly tools: SessionTools;
  readonly contexts: ContextStore = new ContextStore();
  /** What the account may: without it pauses and links are refused. */
  hasBenefits = true;
  /** The bodies of creates. */
  readonly created: Form[] = [];
  /** Every action that was asked for. */
  readonly asked: string[] = [];
  readonly #apiKey: string;
  readonly #server: LoopbackServer;
  readonly #nonces = new Set<string>();

  constructor(provider: SandboxProvider, apiKey: string) {
    this.#apiKey = apiKey;
    this.sandboxes = new BackingSandboxes(provider);
    this.tools = new SessionTools(this.sandboxes);
    this.#server = new LoopbackServer({ answer: (request) => this.#serve(request), refuse: refusalBody });
  }

  get url(): string {
    return this.#server.url;
  }

  get faults(): FaultSwitchboard {
    return this.#server.faults;
  }

  open(): Promise<void> {
    return this.#server.open();
  }

  async close(): Promise<void> {
    await this.#server.close();
    await this.sandboxes.close();
  }

  async #serve({ method, url, body }: LoopbackRequest): Promise<unknown> {
    if (!(body instanceof URLSearchParams))
      throw new CodedRefusal(400, 'InvalidContentType', 'The body must be a form.');
    const answer = await this.#answer(`${method} ${url.pathname}`, url.searchParams, Object.fromEntries(body));
    return { RequestId: randomBytes(8).toString('hex'), Success: true, Code: 'ok', HttpStatusCode: 200, ...answer };
  }

  async #answer(route: string, query: URLSearchParams, form: Form): Promise<Answer> {
    const action = query.get('Action') ?? '';
    if (route !== 'POST /') throw new CodedRefusal(404, 'InvalidAction.NotFound', 'Specified api is not found.');
    if (query.get('Version') !== VERSION)
      throw new CodedRefusal(400, 'InvalidVersion', 'Specified version is not valid.');
    this.#useOnce(query.get('SignatureNonce'));
    if (Number.isNaN(Date.parse(query.get('Timestamp') ?? '')))
      throw new CodedRefusal(400, 'InvalidTimeStamp.Format', 'Specified time stamp is not well formatted.');
    if (form['Authorization'] !== `Bearer ${this.#apiKey}`)
      throw new CodedRefusal(400, 'NOT_LOGIN', 'You are not logged in or your login token has expired');
    this.asked.push(action);
    return this.#act(action, { ...form, SessionId: form['SessionId'] ?? query.get('SessionId') ?? undefined });
  }

  async #act(action: string, form: Form): Promise<Answer> {
    switch (action) {
      case 'CreateMcpSession':
        return { Data: await this.#create(form) };
      case 'ListSession':
        return this.#list(form);
      case 'GetContext':
        return { Data: this.contexts.get(form['Name'], form['AllowCreate'] === 'true') };
    }
    const session = this.#find(form['SessionId']);
    switch (action) {
      case 'GetSessionDetail':
        return { Data: { Status: statusOf(session), ...session.facts } };
      case 'GetLabel':
        return { Data: { Labels: JSON.stringify(session.labels) } };
      case 'SetLabel':
        this.sandboxes.update(session.id, { labels: labelsIn(form['Labels']) });
        return {};
      case 'RefreshSessionIdleTime':
        this.#running(session);
        return {};
      case 'PauseSessionAsync':
        this.#requireBenefit();
        await this.sandboxes.pause(this.#running(session).id);
        return {};
      case 'ResumeSessionAsync':
        this.#requireBenefit();
        if (session.state !== 'paused') throw incorrectStatus(session);
        await this.sandboxes.resume(session.id);
        return {};
      case 'GetLink':
        return { Data: this.#link(this.#running(session), form) };
      case 'SyncContext':
        await this.contexts.upload(this.#running(session));
        return {};
      case 'GetContextInfo':
        return { Data: { ContextStatus: this.contexts.status(session) } };
      case 'CallMcpTool':
        return { Data: await this.tools.call(this.#running(session), form) };
      case 'DeleteSessionAsync':
        return this.#delete(session);
      default:
        throw new CodedRefusal(404, 'InvalidAction.NotFound', `Specified api ${action} is not found.`);
    }
  }

  async #create(form: Form): Promise<unknown> {
    const { ImageId: image, McpPolicyId: policy, LoginRegionId: region, Timeout: timeout } = form;
    if (region !== undefined && !REGIONS.includes(region))
      throw new CodedRefusal(400, 'InvalidRegionId.NotFound', `The region ${region} is not there.`);
    if (policy !== undefined && !POLICIES.includes(policy))
      throw new CodedRefusal(400, 'InvalidMcpPolicy.NotFound', `Resource [McpPolicy] is not found.`);
    if (timeout !== undefined && !/^[1-9]\d*$/.test(timeout))
      throw new CodedRefusal(400, 'InvalidParameter.Timeout', 'Timeout must be a positive integer.');
    if (image === 'missing') return { Success: false, ErrMsg: 'The image does not exist.' };
    const [mounted] = JSON.parse(form['PersistenceDataList'] ?? '[]') as readonly PersistenceData[];
    if (mounted !== undefined) this.contexts.require(mounted.ContextId);
    this.created.push(form);
    const session = await this.sandboxes.create({
      id: `session-${randomBytes(9).toString('hex')}`,
      labels: labelsIn(form['Labels']),
      network: policy === NO_NETWORK ? 'none' : 'open',
      facts: {
        ImageId: image ?? 'linux_latest',
        RegionId: region,
        ...(policy === undefined ? {} : { PolicyId: policy }),
      },
    });
    if (mounted !== undefined) await this.contexts.download(session, mounted);
    return { Success: true, SessionId: session.id, ResourceUrl: `${this.url}/resource`, AppInstanceId: 'ai-1' };
  }

  #list(form: Form): Answer {
    const { Status: status, MaxResults: limit, NextToken: after } = form;
    if (status !== undefined && !STATUSES.includes(status))
      throw new CodedRefusal(400, 'InvalidParameter.Status', `The status ${status} is not valid.`);
    const { sandboxes, next } = this.sandboxes.list({
      labels: labelsIn(form['Labels']),
      after,
      limit: Number(limit ?? 10),
    });
    const found = sandboxes.map((session) => ({ SessionId: session.id, SessionStatus: statusOf(session) }));
    return { Data: found, NextToken: next ?? '', TotalCount: this.sandboxes.size };
  }

  async #delete(session: BackingSandbox): Promise<Answer> {
    if (session.state === 'paused') throw incorrectStatus(session);
    this.contexts.released(session);
    // It is begun here, and looked for until it is gone.
    await this.sandboxes.remove(session.id);
    return {};
  }

  #link({ id }: BackingSandbox, { Port: port, ProtocolType: protocol }: Form): unknown {
    this.#requireBenefit();
    if (port !== undefined && (Number(port) < 30_100 || Number(port) > 30_199))
      throw new CodedRefusal(400, 'InvalidParameter.Port', 'Port must be an integer in the range [30100, 30199].');
    return { Url: `${protocol ?? 'wss'}://gateway.invalid/request_ai/${id}/${port ?? ''}/path/` };
  }

  #find(id: string | undefined): BackingSandbox {
    const session = id === undefined ? undefined : this.sandboxes.get(id);
    if (session === undefined)
      throw new CodedRefusal(400, 'InvalidMcpSession.NotFound', 'Resource [McpSession] is not found.');
    return session;
  }

  #running(session: BackingSandbox): BackingSandbox {
    if (session.state !== 'running') throw incorrectStatus(session);
    return session;
  }

  #requireBenefit(): void {
    if (!this.hasBenefits)
      throw new CodedRefusal(
        400,
        'BenefitLevel.NotSupport',
        'The current benefit level does not support this operation.',
      );
  }

  #useOnce(nonce: string | null): void {
    if (nonce === null) throw new CodedRefusal(400, 'MissingSignatureNonce', 'SignatureNonce is mandatory.');
    if (this.#nonces.has(nonce))
      throw new CodedRefusal(400, 'SignatureNonceUsed', 'Specified signature nonce was used already.');
    this.#nonces.add(nonce);
  }
}

function statusOf({ state }: BackingSandbox): string {
  return { running: 'RUNNING', paused: 'PAUSED', stopped: 'PAUSED', deleting: 'DELETING' }[state];
}

function incorrectStatus(session: BackingSandbox): CodedRefusal {
  return new CodedRefusal(400, 'OperationDenied.Session', `The operation is denied: ${statusOf(session)}.`);
}

/** Labels are a JSON object of texts that are not empty. */
function labelsIn(text: string | undefined): Labels {
  const labels = JSON.parse(text ?? '{}') as Labels;
  if (
    Array.isArray(labels) ||
    Object.entries(labels).some(([name, value]) => name === '' || typeof value !== 'string' || value === '')
  )
    throw new CodedRefusal(400, 'InvalidParameter.Labels', 'Labels must be an object of non-empty strings.');
  return labels;
}
