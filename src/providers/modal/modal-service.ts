/**
 * Sandboxes of Modal as ours. Of the running ones of an app Modal lets one have a name, so the name is what they are known by: a
 * sandbox that is stopped and started is another one at Modal each time.
 *
 * Modal has no stopped sandboxes. To stop one, its commands are ended, its disk becomes an image, its tags say which, and it is terminated. Whoever dies on
 * the way leaves one thing: the sandbox that runs, or the one that is stopped. After the snapshot there is an image that nobody
 * knows, which expires. After the tags the sandbox runs on; they count only once it has been terminated, and the next stop writes
 * them anew. If it ends by itself meanwhile they do not count either: it would come back older than it was.
 */
import { type Clock } from '../../core/clock.ts';
import type { Commands } from '../../core/commands.ts';
import { SubletError, throwIfAborted } from '../../core/errors.ts';
import { abortable } from '../../provider/abortable.ts';
import type { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import type { ListedSandbox, SandboxSpec } from '../../provider/provider.ts';
import { lookUntil } from '../../provider/service/look-until.ts';
import type { SandboxService, WantedSandboxes } from '../../provider/service/sandbox-service.ts';
import { notFoundError } from '../../provider/service/service-errors.ts';
import type { KnownSandbox, ModalApi, NewSandbox } from './modal-api.ts';
import { createModalCommands, type ModalCommandsOptions } from './modal-commands.ts';
import type { ModalConfig } from './modal-config.ts';
import { TITLE } from './modal-errors.ts';
import {
  diskLeftBy,
  endingTags,
  imagesOf,
  isOver,
  labelsOf,
  nameOf,
  STOPPED_TAG,
  stateOf,
  stoppedTags,
  toSandbox,
  toSuccessor,
} from './sandbox-facts.ts';

/** One that runs, or one that is over and whose disk is kept. */
export type ModalBox = KnownSandbox;

type CommandsPlace = Pick<ModalCommandsOptions, 'name' | 'id' | 'workdir' | 'left'> & Partial<ModalCommandsOptions>;

const LOOK_MS = 10_000;

export class ModalService implements SandboxService<ModalBox> {
  readonly title = TITLE;
  readonly hasUniqueNames = true;
  readonly #api: ModalApi;
  readonly #config: ModalConfig;
  readonly #clock: Clock;

  constructor(api: ModalApi, config: ModalConfig, clock: Clock) {
    this.#api = api;
    this.#config = config;
    this.#clock = clock;
  }

  idOf(box: ModalBox): string {
    return nameOf(box) ?? '';
  }

  read(box: ModalBox): ListedSandbox | undefined {
    const name = nameOf(box);
    if (name === undefined) return undefined;
    return { ref: { name }, labels: labelsOf(box), state: stateOf(box), createdAt: box.createdAt };
  }

  failure(): undefined {
    return undefined;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<ModalBox> {
    const present = await this.#find(spec.name, signal);
    // Modal would give the name of a stopped one away.
    if (present !== undefined && stateOf(present) !== 'unknown') throw takenError(spec.name);
    if (present !== undefined) await this.#ended(spec.name, signal);
    const image = await abortable(this.#api.image(spec.image ?? this.#config.image), signal);
    throwIfAborted(signal);
    return this.#api.create(toSandbox(spec, this.#config, image, this.#clock.now()));
  }

  async get(name: string, signal: AbortSignal): Promise<ModalBox> {
    const box = await this.#find(name, signal);
    if (box === undefined) throw notFoundError(TITLE, name);
    return box;
  }

  /** Those that run, and then those that are stopped, of which one that was started meanwhile is told as it is. */
  async *list({ labels = {} }: WantedSandboxes, signal: AbortSignal): AsyncGenerator<ModalBox> {
    const told = new Set<string>();
    for await (const box of this.#api.list(labels, false, signal)) {
      const name = nameOf(box);
      if (name === undefined || told.has(name)) continue;
      told.add(name);
      yield box;
    }
    for await (const record of this.#api.list({ ...labels, ...STOPPED_TAG }, true, signal)) {
      const name = nameOf(record);
      if (name === undefined || told.has(name)) continue;
      told.add(name);
      const box = await this.#find(name, signal);
      if (box !== undefined) yield { ...box, createdAt: record.createdAt };
    }
  }

  /** Under the same name, labels and network. Nothing of the old one is changed, so whoever dies here leaves what there is. */
  async wake(name: string, signal: AbortSignal): Promise<void> {
    const stopped = await this.get(name, signal);
    const disk = diskLeftBy(stopped);
    if (disk === undefined) return;
    await this.#api.create(this.#successor(stopped, disk.imageId));
  }

  /** Commands end first, so that nothing is written behind the snapshot. */
  async stop(box: ModalBox, commands: Commands, signal: AbortSignal): Promise<void> {
    const running = (await abortable(commands.list(), signal)).filter((each) => each.running);
    await Promise.all(running.map(async ({ id }) => (await commands.attach(id)).kill()));
    const keepSecs = this.#config.keepStoppedSecs;
    const expiresAt = this.#clock.now() + keepSecs * 1000;
    const imageId = await this.#api.snapshot(box.id, keepSecs, signal);
    await this.#api.setTags(box.id, stoppedTags(box.tags, { imageId, expiresAt }), signal);
    await this.#api.terminate(box.id, signal);
  }

  /** The disks that a stopped one does not need any more: what it was started from, and that of a stop which was not finished. */
  async dropOlder(box: ModalBox, signal: AbortSignal): Promise<void> {
    await Promise.all(imagesOf(box).map((imageId) => this.#api.deleteImage(imageId, signal)));
  }

  /** What is begun is marked first: then nobody takes it for one that runs, or for one that is stopped. Its disks go before it does. */
  async remove(name: string, signal: AbortSignal): Promise<'gone' | 'begun'> {
    const box = await this.get(name, signal);
    if (!isOver(box)) await this.#api.setTags(box.id, endingTags(box.tags), signal);
    await this.dropOlder(box, signal);
    if (isOver(box)) return 'gone';
    await this.#api.terminate(box.id, signal);
    this.#api.detach(box.id);
    return 'begun';
  }

  async prepare(box: ModalBox, signal: AbortSignal): Promise<void> {
    const { cwd } = this.#config;
    const place = { name: this.idOf(box), id: box.id, workdir: '/', left: signal };
    const { exitCode, stderr } = await this.commandsIn(place).run(['mkdir', '-p', '--', cwd], { signal });
    if (exitCode === 0) return;
    throw new SubletError('CREATE_FAILED', `The directory ${cwd} could not be made: ${stderr.trim()}`, {
      hint: 'Name another one in modal.cwd, or an image with sh and mkdir.',
    });
  }

  commandsIn(place: CommandsPlace): RemoteCommands {
    const look = (): Promise<ModalBox | undefined> => this.#find(place.name, AbortSignal.timeout(LOOK_MS));
    return createModalCommands({ env: () => ({}), ...place, clock: this.#clock, api: this.#api, look });
  }

  #successor(stopped: ModalBox, imageId: string): NewSandbox {
    return toSuccessor(stopped, this.#config, imageId, this.#clock.now());
  }

  /** undefined when there is certainly none that is ours: neither one that runs, nor a disk. */
  async #find(name: string, signal: AbortSignal): Promise<ModalBox | undefined> {
    const box = await this.#api.newest(name, signal);
    if (box === undefined || nameOf(box) !== name) return undefined;
    if (!isOver(box)) return box;
    const disk = diskLeftBy(box);
    return disk !== undefined && (await this.#api.hasImage(disk.imageId, signal)) ? box : undefined;
  }

  /** Somebody is removing it. */
  async #ended(name: string, signal: AbortSignal): Promise<void> {
    await lookUntil(
      this.#clock,
      async () => ((await this.#find(name, signal)) === undefined ? true : undefined),
      signal,
    );
  }
}

function takenError(name: string): SubletError {
  return new SubletError('STATE_CONFLICT', `Modal has a sandbox "${name}" already.`, { details: { name } });
}
