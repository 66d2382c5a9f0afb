/** Sandboxes of LangSmith, where the name is the identity: it is unique, and everything is asked by it. */
import { SubletError } from '../../core/errors.ts';
import { violates } from '../../core/network.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { ListedSandbox, SandboxSpec } from '../../provider/provider.ts';
import type { SandboxService, WantedSandboxes } from '../../provider/service/sandbox-service.ts';
import { createdAt, isOurs, labelsOf, networkOf, stateOf, toBox } from './box-facts.ts';
import type { BoxShell } from './box-shell.ts';
import type { Box, LangsmithApi } from './langsmith-api.ts';
import type { LangsmithConfig } from './langsmith-config.ts';
import { TITLE } from './langsmith-errors.ts';

export class LangsmithService implements SandboxService<Box> {
  readonly title = TITLE;
  readonly hasUniqueNames = true;
  readonly #api: LangsmithApi;
  readonly #config: LangsmithConfig;
  readonly #shellOf: (box: Box) => BoxShell;

  constructor(api: LangsmithApi, config: LangsmithConfig, shellOf: (box: Box) => BoxShell) {
    this.#api = api;
    this.#config = config;
    this.#shellOf = shellOf;
  }

  idOf({ name = '' }: Box): string {
    return name;
  }

  read(box: Box): ListedSandbox | undefined {
    const { name = '' } = box;
    if (!isOurs(box)) return undefined;
    return { ref: { name }, labels: labelsOf(box), state: stateOf(box), createdAt: createdAt(box) };
  }

  failure({ name, status, status_message: reason }: Box): SubletError | undefined {
    if (status !== 'failed' && status !== 'deleting') return undefined;
    const said = `LangSmith says that ${name} is in the state "${status}": ${reason ?? 'no reason given'}.`;
    return new SubletError('CREATE_FAILED', said, { hint: 'Look at it in the workspace, and at its snapshot.' });
  }

  async create(spec: SandboxSpec): Promise<Box> {
    const box = await this.#api.create(toBox(spec, this.#config));
    if (!violates(networkOf(box), spec.network)) return box;
    await this.#api.delete(spec.name, new AbortController().signal);
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', `LangSmith made ${spec.name} with an open network.`, {
      hint: 'This server does not know access control; use one that does.',
    });
  }

  get(name: string, signal: AbortSignal): Promise<Box> {
    return this.#api.get(name, signal);
  }

  list({ labels = {} }: WantedSandboxes, signal: AbortSignal): AsyncIterable<Box> {
    return this.#api.list(labels, signal);
  }

  wake(name: string, signal: AbortSignal): Promise<void> {
    return this.#api.start(name, signal);
  }

  async remove(name: string, signal: AbortSignal): Promise<'begun'> {
    await this.#api.delete(name, signal);
    return 'begun';
  }

  async prepare(box: Box): Promise<void> {
    const { cwd } = this.#config;
    const { exitCode } = await this.#shellOf(box).call(`mkdir -p -- ${shellQuote(cwd)}`, {});
    if (exitCode === 0) return;
    throw new SubletError('CREATE_FAILED', `The directory ${cwd} cannot be made in the sandbox.`, {
      hint: 'Set langsmith.cwd to one that the user of the snapshot may write to.',
    });
  }
}
