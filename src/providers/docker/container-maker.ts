/** Makes a container and starts it: the image fetched when it is missing, the working directory made the user's. */
import type { Socket } from 'node:net';
import { parse } from 'node:path/posix';
import { type Clock, sleep } from '../../core/clock.ts';
import { abortedError, SubletError } from '../../core/errors.ts';
import type { ProviderContext, ProviderLog } from '../../provider/define-provider.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { containerBody, imageOf } from './container-body.ts';
import { isRoot, userIds } from './container-user.ts';
import type { DockerApi } from './docker-api.ts';
import { configDirOf, surroundingsOf } from './engine-candidates.ts';
import type { DockerConfig } from './docker-config.ts';
import { foreignNameError, isConflict, isGone, statusOf } from './docker-errors.ts';
import type { ContainerBody, ContainerDetails } from './docker-types.ts';
import { readFacts } from './container-label.ts';
import type { ExecGate } from './exec-gate.ts';
import { checkMounts } from './mount-rules.ts';
import { startAsIs } from './network-level.ts';
import { runPlainExec } from './plain-exec.ts';
import { pullImage } from './pull-image.ts';
import { ShellSlot } from './shell-slot.ts';
import { thawIfSilent } from './stuck-engine.ts';
import { tarFile } from './tar-file.ts';

export interface MadeContainer {
  readonly details: ContainerDetails;
  /** Of an ephemeral container that this process made: it lives as long as the connection. */
  readonly leash: Socket | undefined;
  readonly firstSlot: Promise<ShellSlot> | undefined;
}

/** Another process that makes the same container has this long to start it. */
const OTHER_MAKER_LOOKS = 200;
const REMOVAL_LOOKS = 600;
const LOOK_MS = 50;
const UNDO_MS = 30_000;
const RUNNING = { Status: 'running', Running: true, Paused: false };

export class ContainerMaker {
  readonly #api: DockerApi;
  readonly #config: DockerConfig;
  readonly #gate: ExecGate;
  readonly #clock: Clock;
  readonly #log: ProviderLog;
  readonly #configDir: string;
  readonly #imageUsers = new Map<string, string>();

  constructor(
    api: DockerApi,
    config: DockerConfig,
    gate: ExecGate,
    context: Pick<ProviderContext, 'clock' | 'log' | 'env'>,
  ) {
    this.#api = api;
    this.#gate = gate;
    this.#config = config;
    this.#clock = context.clock;
    this.#log = context.log;
    this.#configDir = configDirOf(surroundingsOf(context));
  }

  /** undefined when one of that name is there already. */
  async make(spec: SandboxSpec, signal: AbortSignal): Promise<MadeContainer | undefined> {
    const mounts = await checkMounts(spec.mounts ?? [], this.#api.client.endpoint);
    const user = this.#config.user ?? (await this.#imageUser(spec, signal));
    return this.makeOf(containerBody(spec, this.#config, { mounts, isRoot: isRoot(user) }), spec, signal);
  }

  /** The same from what the engine is to be asked for. */
  async makeOf(
    body: ContainerBody,
    spec: Pick<SandboxSpec, 'name' | 'onProgress'>,
    signal: AbortSignal,
  ): Promise<MadeContainer | undefined> {
    const id = await this.#create(spec, body, signal);
    if (id === undefined) return undefined;
    let leash: Socket | undefined;
    try {
      if (body.OpenStdin) leash = await this.#api.attach(id, signal);
      // Before the start, because nothing that the shell says may be missed.
      const firstSlot = leash === undefined ? undefined : new ShellSlot(leash, { keepsConnection: true }).ready();
      firstSlot?.catch(() => undefined);
      const [details] = await Promise.all([this.#api.inspect(id, signal), this.#start(id, body.Image, signal)]);
      await this.#prepare(details, signal);
      if (signal.aborted) throw abortedError(signal);
      return { details: { ...details, State: RUNNING }, leash, firstSlot };
    } catch (error) {
      leash?.destroy();
      await this.remove(id, AbortSignal.timeout(UNDO_MS)).catch((cause: unknown) =>
        this.#log.warn({ name: spec.name, error: String(cause) }, 'remains of a failed create could not be removed'),
      );
      throw error;
    }
  }

  /** Returns when it is gone: a removal that is under way is waited for. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    for (let look = 0; ; look++) {
      try {
        return await thawIfSilent(this.#clock, id, () => this.#api.remove(id, signal));
      } catch (error) {
        if (isGone(error)) return;
        if (!isConflict(error) || look === REMOVAL_LOOKS) throw error;
        await sleep(this.#clock, LOOK_MS, signal);
      }
    }
  }

  /** Waits until one that another made, or is making, runs. False when it is not there; one that was given up halfway is removed. */
  async adopt(spec: SandboxSpec, signal: AbortSignal): Promise<boolean> {
    for (let look = 0; ; look++) {
      if (signal.aborted) throw abortedError(signal);
      const details = await this.#api.inspect(spec.name, signal).catch((error: unknown) => {
        if (isGone(error)) return undefined;
        throw error;
      });
      if (details?.State.Running === true && readFacts(details.Config.Labels) !== undefined) return true;
      if (details === undefined || look === OTHER_MAKER_LOOKS) {
        // The engine takes a name before it knows the container, and frees it a moment after the container is gone.
        if (details !== undefined) await this.remove(details.Id, signal);
        await sleep(this.#clock, LOOK_MS, signal);
        return false;
      }
      if (readFacts(details.Config.Labels) === undefined) throw foreignNameError(spec.name);
      // One that stays can be started by anybody; an ephemeral one only by the maker that holds its leash.
      if (!spec.ephemeral && details.State.Status !== 'removing') await this.#restartIfThere(details, signal);
      else await sleep(this.#clock, LOOK_MS, signal);
    }
  }

  async #restartIfThere(details: ContainerDetails, signal: AbortSignal): Promise<void> {
    await this.restart(details, signal).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
  }

  /** Starts one that exists, with the network it had. */
  async restart(details: ContainerDetails, signal: AbortSignal): Promise<void> {
    await startAsIs(this.#api, details, () => this.#start(details.Id, details.Config.Image, signal), signal);
    await this.#prepare(details, signal);
  }

  /** Who the image says its programs run as. Fetches an image that is not there. */
  async #imageUser(spec: SandboxSpec, signal: AbortSignal): Promise<string> {
    const image = imageOf(spec);
    const known = this.#imageUsers.get(image);
    if (known !== undefined) return known;
    const found = await this.#api.inspectImage(image, signal).catch(async (error: unknown) => {
      if (!isGone(error)) throw error;
      await this.#pull(image, spec, signal);
      return this.#api.inspectImage(image, signal);
    });
    const user = found.Config?.User ?? '';
    this.#imageUsers.set(image, user);
    return user;
  }

  async #pull(image: string, spec: Pick<SandboxSpec, 'onProgress'>, signal: AbortSignal): Promise<void> {
    await pullImage(this.#api, image, this.#configDir, spec.onProgress ?? (() => undefined), signal);
  }

  async #create(
    spec: Pick<SandboxSpec, 'name' | 'onProgress'>,
    body: ContainerBody,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      return await this.#createOnce(spec.name, body, signal);
    } catch (error) {
      if (!isGone(error) || !/image/i.test((error as Error).message)) throw error;
      await this.#pull(body.Image, spec, signal);
      return this.#createOnce(spec.name, body, signal);
    }
  }

  async #createOnce(name: string, body: ContainerBody, signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted) throw abortedError(signal);
    try {
      return await this.#api.createContainer(name, body);
    } catch (error) {
      if (isNameTaken(error)) return undefined;
      throw storageError(error) ?? (await runtimeError(this.#api, this.#config, error)) ?? error;
    }
  }

  async #start(id: string, image: string, signal: AbortSignal): Promise<void> {
    await this.#api.start(id, signal).catch((error: unknown) => {
      throw SubletError.is(error) && /executable file not found|no such file or directory/i.test(error.message)
        ? noStarterError(image, this.#config, error)
        : error;
    });
  }

  /** The engine makes the working directory root's; another user could not write in it. */
  async #prepare({ Id, Config, HostConfig }: ContainerDetails, signal: AbortSignal): Promise<void> {
    if (isRoot(Config.User)) return;
    if (HostConfig.ReadonlyRootfs) return this.#assertWritable(Id, Config, signal);
    const owner = await userIds(this.#api, Id, Config.User, signal);
    const { dir, base } = parse(Config.WorkingDir);
    const modifiedSeconds = this.#clock.now() / 1000;
    const header = { name: `${base}/`, isDirectory: true, mode: 0o755, sizeBytes: 0, modifiedSeconds, ...owner };
    await this.#api.putArchive(Id, dir, tarFile(header), signal);
  }

  /** Under a root that cannot be written the image decides whose the directory is. */
  async #assertWritable(
    containerId: string,
    { User, WorkingDir: cwd }: ContainerDetails['Config'],
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#config.command.length > 0) return;
    const exec = { gate: this.#gate, containerId, command: ['sh', '-c', '[ -w . ]'], cwd, env: {} };
    if ((await runPlainExec(this.#api, this.#clock, exec, { signal })).exitCode === 0) return;
    throw new SubletError('CREATE_FAILED', `The user "${User}" cannot write in ${cwd}, and the root is read-only.`, {
      hint: `Use an image in which ${cwd} belongs to that user, or leave out docker.readonlyRootfs or docker.user.`,
    });
  }
}

function isNameTaken(error: unknown): boolean {
  if (isConflict(error)) return true;
  // Podman says so with 500.
  return statusOf(error) === 500 && /name .* (is )?already in use/i.test((error as Error).message);
}

/** undefined when it is about something else. */
function storageError(error: unknown): SubletError | undefined {
  if (!SubletError.is(error) || !/storage-opt|storage opt|--storage|pquota|project quota/i.test(error.message))
    return undefined;
  return new SubletError('UNSUPPORTED', 'This engine cannot limit the disk of a container.', {
    cause: error,
    hint: 'It needs the overlay2 driver on xfs mounted with pquota. Leave the disk limit out.',
  });
}

/** undefined when it is about something else. */
async function runtimeError(
  api: DockerApi,
  { runtime }: DockerConfig,
  error: unknown,
): Promise<SubletError | undefined> {
  const isMeant = SubletError.is(error) && /runtime/i.test(error.message) && error.message.includes(runtime ?? '\n');
  if (!isMeant) return undefined;
  const known = Object.keys((await api.info().catch(() => undefined))?.Runtimes ?? {});
  return new SubletError('CONFIG_INVALID', `The engine has no runtime "${runtime}".`, {
    cause: error,
    hint: `It has: ${known.join(', ')}. Register it in the engine's configuration, or correct docker.runtime.`,
  });
}

function noStarterError(image: string, config: DockerConfig, cause: unknown): SubletError {
  const program = config.command[0] ?? 'sh';
  return new SubletError('CREATE_FAILED', `The image ${image} has no program "${program}" to keep it running.`, {
    cause,
    details: { image },
    hint:
      config.command.length === 0
        ? 'Use an image with a shell, or set docker.command to a program of the image that does not end.'
        : 'Correct docker.command in the profile.',
  });
}
