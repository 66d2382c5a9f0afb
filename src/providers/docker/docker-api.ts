/** The engine's endpoints that Sublet uses, by name. Podman's compatible API has all of them. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { PtySize } from '../../core/commands.ts';
import type { EngineClient } from './engine-client.ts';
import type { Download } from './engine-download.ts';
import type {
  ContainerBody,
  ContainerDetails,
  ContainerProcesses,
  ContainerStats,
  EngineInfo,
  ExecBody,
  ExecDetails,
  ImageDetails,
  ListedContainer,
  PathChange,
} from './docker-types.ts';

/** It reads nothing but memory: an engine that takes longer hangs with the container. */
const INSPECT_MS = 60_000;

export class DockerApi {
  readonly client: EngineClient;

  constructor(client: EngineClient) {
    this.client = client;
  }

  info(signal?: AbortSignal): Promise<EngineInfo> {
    return this.client.json({ method: 'GET', path: '/info', what: 'describe itself', signal });
  }

  /** Waits for the answer whatever happens: what a cut connection left behind would have no known name. */
  async createContainer(name: string, body: ContainerBody): Promise<string> {
    const path = `/containers/create?name=${encodeURIComponent(name)}`;
    const what = `create the container ${name}`;
    return (await this.client.json<{ readonly Id: string }>({ method: 'POST', path, what, body })).Id;
  }

  async start(id: string, signal?: AbortSignal): Promise<void> {
    await this.#post(id, 'start', signal);
  }

  async stop(id: string, graceSeconds: number, signal?: AbortSignal): Promise<void> {
    await this.#post(id, `stop?t=${graceSeconds}`, signal);
  }

  async pause(id: string, signal?: AbortSignal): Promise<void> {
    await this.#post(id, 'pause', signal);
  }

  async unpause(id: string, signal?: AbortSignal): Promise<void> {
    await this.#post(id, 'unpause', signal);
  }

  inspect(id: string, signal?: AbortSignal): Promise<ContainerDetails> {
    const path = `${container(id)}/json`;
    const what = `describe the container ${id}`;
    return this.client.json({ method: 'GET', path, what, signal, patienceMs: INSPECT_MS });
  }

  async remove(id: string, signal?: AbortSignal): Promise<void> {
    const path = `${container(id)}?force=true&v=true`;
    await this.client.json({ method: 'DELETE', path, what: `remove the container ${id}`, signal });
  }

  list(labels: readonly string[], signal?: AbortSignal): Promise<readonly ListedContainer[]> {
    const filters = encodeURIComponent(JSON.stringify({ label: labels }));
    const path = `/containers/json?all=true&filters=${filters}`;
    return this.client.json({ method: 'GET', path, what: 'list containers', signal });
  }

  stats(id: string, signal?: AbortSignal): Promise<ContainerStats> {
    const path = `${container(id)}/stats?stream=false&one-shot=true`;
    return this.client.json({ method: 'GET', path, what: `measure the container ${id}`, signal });
  }

  /** What its own layer has beyond the image. */
  async changes(id: string, signal?: AbortSignal): Promise<readonly PathChange[]> {
    const path = `${container(id)}/changes`;
    const what = `compare the container ${id} with its image`;
    return (await this.client.json<readonly PathChange[] | null>({ method: 'GET', path, what, signal })) ?? [];
  }

  top(id: string, signal?: AbortSignal): Promise<ContainerProcesses> {
    const path = `${container(id)}/top`;
    return this.client.json({ method: 'GET', path, what: `list the processes of the container ${id}`, signal });
  }

  /** The container's main process's input and output, from now on. */
  attach(id: string, signal?: AbortSignal): Promise<Socket> {
    const path = `${container(id)}/attach?stream=true&stdin=true&stdout=true&stderr=true`;
    return this.client.hijack({ method: 'POST', path, what: `attach to the container ${id}`, signal });
  }

  async createExec(id: string, body: ExecBody, signal?: AbortSignal): Promise<string> {
    const path = `${container(id)}/exec`;
    const what = `prepare a command in the container ${id}`;
    return (await this.client.json<{ readonly Id: string }>({ method: 'POST', path, what, body, signal })).Id;
  }

  /** The size of a terminal in the words of Docker since 1.42 and of Podman; each ignores the other's. */
  startExec(execId: string, size?: PtySize, signal?: AbortSignal): Promise<Socket> {
    const words = size === undefined ? {} : { ConsoleSize: [size.rows, size.cols], h: size.rows, w: size.cols };
    const body = { Detach: false, Tty: size !== undefined, ...words };
    return this.client.hijack({ method: 'POST', path: `/exec/${execId}/start`, what: 'start a command', body, signal });
  }

  inspectExec(execId: string, signal?: AbortSignal): Promise<ExecDetails> {
    return this.client.json({ method: 'GET', path: `/exec/${execId}/json`, what: 'describe a command', signal });
  }

  async resizeExec(execId: string, cols: number, rows: number): Promise<void> {
    const path = `/exec/${execId}/resize?h=${rows}&w=${cols}`;
    await this.client.json({ method: 'POST', path, what: 'change the size of a terminal' });
  }

  /** A tar stream of the path; a directory with all that is in it. */
  getArchive(id: string, path: string, signal?: AbortSignal): Promise<Download> {
    const what = `read ${path} in the container ${id}`;
    return this.client.download({ path: archive(id, path), what, signal });
  }

  /** The engine's facts about a path, as it encodes them. */
  async statPath(id: string, path: string, signal?: AbortSignal): Promise<string> {
    const what = `look at ${path} in the container ${id}`;
    const answer = await this.client.stream({ method: 'HEAD', path: archive(id, path), what, signal });
    answer.resume();
    return String(answer.headers['x-docker-container-path-stat'] ?? '');
  }

  /** Unpacks a tar stream in a directory that exists. */
  async putArchive(id: string, dir: string, tar: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
    const what = `write to ${dir} in the container ${id}`;
    const headers = { 'content-type': 'application/x-tar' };
    const path = `${archive(id, dir)}&noOverwriteDirNonDir=true`;
    await this.client.upload({ method: 'PUT', path, what, headers, signal }, tar);
  }

  inspectImage(image: string, signal?: AbortSignal): Promise<ImageDetails> {
    const path = `/images/${image.split('/').map(encodeURIComponent).join('/')}/json`;
    return this.client.json({ method: 'GET', path, what: `describe the image ${image}`, signal });
  }

  /** Progress, one JSON object a line. The pull goes on as long as the answer is read. */
  pull(image: string, auth: string | undefined, signal?: AbortSignal): Promise<IncomingMessage> {
    const path = `/images/create?fromImage=${encodeURIComponent(image)}`;
    const headers = auth === undefined ? {} : { 'x-registry-auth': auth };
    return this.client.stream({ method: 'POST', path, what: `pull the image ${image}`, headers, signal });
  }

  async commit(id: string, repository: string, tag: string, signal?: AbortSignal): Promise<string> {
    const query = new URLSearchParams({ container: id, repo: repository, tag, pause: 'true' });
    const what = `take a snapshot of the container ${id}`;
    const path = `/commit?${query.toString()}`;
    return (await this.client.json<{ readonly Id: string }>({ method: 'POST', path, what, body: {}, signal })).Id;
  }

  async connectNetwork(network: string, id: string, signal?: AbortSignal): Promise<void> {
    const path = `/networks/${encodeURIComponent(network)}/connect`;
    const what = `connect the container ${id} to the network ${network}`;
    await this.client.json({ method: 'POST', path, what, body: { Container: id }, signal });
  }

  async disconnectNetwork(network: string, id: string, signal?: AbortSignal): Promise<void> {
    const path = `/networks/${encodeURIComponent(network)}/disconnect`;
    const what = `disconnect the container ${id} from the network ${network}`;
    await this.client.json({ method: 'POST', path, what, body: { Container: id, Force: true }, signal });
  }

  async #post(id: string, action: string, signal: AbortSignal | undefined): Promise<void> {
    const what = `${action.replace(/\?.*/, '')} the container ${id}`;
    await this.client.json({ method: 'POST', path: `${container(id)}/${action}`, what, signal });
  }
}

function container(id: string): string {
  return `/containers/${encodeURIComponent(id)}`;
}

function archive(id: string, path: string): string {
  return `${container(id)}/archive?path=${encodeURIComponent(path)}`;
}
