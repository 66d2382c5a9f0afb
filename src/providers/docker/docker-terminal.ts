/** A terminal of the engine's: an exec with a tty, on a socket of its own. */
import type { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import type { TerminalChannel, TerminalRequest } from '../../provider/posix/inside/inside-terminal.ts';
import type { DockerApi } from './docker-api.ts';
import { execBegun, type ExecGate } from './exec-gate.ts';

/** The engine closes the terminal a moment before it knows the exit code. */
const EXIT_LOOKS = 50;

export interface TerminalPlace {
  readonly api: DockerApi;
  readonly clock: Clock;
  readonly gate: ExecGate;
  readonly containerId: string;
}

export function openDockerTerminal(place: TerminalPlace, request: TerminalRequest): Promise<TerminalChannel> {
  return place.gate.begin(place.containerId, () => begin(place, request));
}

async function begin(
  { api, clock, containerId }: TerminalPlace,
  { argv, env, size }: TerminalRequest,
): Promise<TerminalChannel> {
  const execId = await api.createExec(containerId, {
    Cmd: argv,
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: true,
  });
  const socket = await api.startExec(execId, size);
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', resolve));
  await execBegun(api, clock, execId);
  return {
    exit: closed.then(() => exitStatus(api, clock, execId)),
    onData: (take) => void socket.on('data', take),
    write: (data) => write(socket, data),
    resize: ({ cols, rows }) => api.resizeExec(execId, cols, rows),
  };
}

function write(socket: Socket, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) =>
    socket.write(data, (error) => (error === undefined || error === null ? resolve() : reject(error))),
  );
}

async function exitStatus(api: DockerApi, clock: Clock, execId: string): Promise<number | null> {
  for (let look = 0; look < EXIT_LOOKS; look++) {
    const details = await api.inspectExec(execId).catch(() => undefined);
    if (details === undefined) return null;
    if (!details.Running) return details.ExitCode;
    await new Promise<void>((resolve) => clock.schedule(10, resolve));
  }
  return null;
}
