/** Boxes as sandboxes. A box has one name, in which its labels are. */
import { SubletError } from '../../core/errors.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import type { ListedSandbox, SandboxSpec } from '../../provider/provider.ts';
import type { SandboxService, WantedSandboxes } from '../../provider/service/sandbox-service.ts';
import { notFoundError } from '../../provider/service/service-errors.ts';
import { type Box, readBox, toBox } from './box-facts.ts';
import type { BoxliteApi } from './boxlite-api.ts';
import type { BoxliteConfig } from './boxlite-config.ts';
import { toBoxName } from './boxlite-name.ts';
import { releasePorts, takePort } from './host-ports.ts';

export class BoxliteService implements SandboxService<Box> {
  readonly title = 'BoxLite';
  /** They are unique, and not known without their labels. */
  readonly hasUniqueNames = false;
  readonly #api: BoxliteApi;
  readonly #config: BoxliteConfig;
  /** Of this machine, by the id of their box. */
  readonly #hostPorts = new Map<string, readonly number[]>();

  constructor(api: BoxliteApi, config: BoxliteConfig) {
    this.#api = api;
    this.#config = config;
  }

  idOf({ id }: Box): string {
    return id;
  }

  read(box: Box): ListedSandbox | undefined {
    return readBox(box);
  }

  failure({ id, status }: Box): SubletError | undefined {
    if (status !== 'failed') return undefined;
    return new SubletError('CREATE_FAILED', `The box ${id} could not be started.`, {
      hint: 'Look at its image, and at the logs of BoxLite.',
    });
  }

  async create(spec: SandboxSpec): Promise<Box> {
    const name = toBoxName(spec);
    const { place, ports } = this.#config;
    const hostPorts = place.kind === 'server' ? [] : await Promise.all(ports.map(() => takePort()));
    try {
      const id = await this.#api.create(toBox(spec, this.#config, hostPorts), name);
      this.#hostPorts.set(id, hostPorts);
      return { id, name, status: 'configured', createdAt: undefined, autoStop: 0, outbound: undefined, ports: [] };
    } catch (error) {
      releasePorts(hostPorts);
      throw error;
    }
  }

  async get(id: string, signal: AbortSignal): Promise<Box> {
    const box = await this.#api.get(id, signal);
    if (box === undefined) throw notFoundError('BoxLite', id);
    return box;
  }

  /** There is no filter. */
  list(_wanted: WantedSandboxes, signal: AbortSignal): AsyncIterable<Box> {
    return this.#api.list(signal);
  }

  wake(id: string): Promise<void> {
    return this.#api.start(id);
  }

  async remove(id: string): Promise<'gone'> {
    await this.#api.remove(id);
    releasePorts(this.#hostPorts.get(id) ?? []);
    this.#hostPorts.delete(id);
    return 'gone';
  }

  async prepare({ id }: Box): Promise<void> {
    const cwd = shellQuote(this.#config.cwd);
    const { exitCode } = await this.#api.execute(id, `exec 2>/dev/null; mkdir -p -- ${cwd} && [ -w ${cwd} ]`, {});
    if (exitCode === 0) return;
    throw new SubletError('CREATE_FAILED', `Boxes of this image cannot write to ${this.#config.cwd}.`, {
      hint: 'Set boxlite.cwd to a directory that its user can write.',
    });
  }
}
