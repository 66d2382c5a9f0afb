/**
 * Starts the process that sees to what this one leaves if it dies: a shell that waits until our end of a pipe closes,
 * which the kernel does however we end, and only then becomes Node. While it waits it takes a megabyte.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { access } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Environment } from './config/home.ts';
import type { OwnerId } from './core/ids.ts';
import { withoutInherited } from './provider/posix/inherited-descriptors.ts';
import type { Log } from './telemetry/log.ts';

export interface WatchdogOptions {
  /** What it opens the same store and providers with. Secrets are handed on here alone, never as arguments. */
  readonly env: Environment;
  readonly log: Log;
}

export interface Watchdog {
  /** We leave in good order: it ends without doing anything. */
  farewell(): Promise<void>;
}

// A line is a farewell; an end without one is a death.
const WAIT = 'read -r farewell || exec "$@" </dev/null';

/** Beside this file when it is compiled, above it when it is packed with the command line, else built from these sources. */
const PROGRAMS = ['./watchdog.js', '../watchdog.js', '../dist/watchdog.js'];

/** Never rejects: without a watchdog, what we leave waits for another process's sweep. */
export async function startWatchdog(ownerId: OwnerId, options: WatchdogOptions): Promise<Watchdog> {
  try {
    return toWatchdog(await start(ownerId, options.env), options.log);
  } catch (cause) {
    notStarted(options.log, cause);
    return { farewell: async () => {} };
  }
}

async function start(ownerId: OwnerId, env: Environment): Promise<ChildProcess> {
  const program = await findProgram();
  return spawn('/bin/sh', ['-c', WAIT, 'sublet-watchdog', process.execPath, program, ownerId], {
    // A session of its own, out of reach of the terminal's Ctrl-C, and no directory that somebody may want to unmount.
    detached: true,
    cwd: '/',
    env: { ...env, NODE_OPTIONS: withoutDebugger(env['NODE_OPTIONS']) },
    stdio: withoutInherited(['pipe', 'ignore', 'ignore']),
  });
}

async function findProgram(): Promise<string> {
  for (const relative of PROGRAMS) {
    const path = fileURLToPath(new URL(relative, import.meta.url));
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  throw new Error('its program is not installed beside this one');
}

/** It would wait for somebody to attach, or want the port that the owner has. */
function withoutDebugger(options: string | undefined): string | undefined {
  return options?.replaceAll(/--inspect\S*/g, '');
}

function toWatchdog(child: ChildProcess, log: Log): Watchdog {
  const { stdin } = child;
  child.on('error', (cause) => notStarted(log, cause));
  // Somebody may have killed it.
  stdin?.on('error', () => undefined);
  // Neither keeps this process alive.
  child.unref();
  if (stdin !== null && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
  return {
    farewell: () =>
      new Promise((resolve) => {
        if (stdin === null || stdin.destroyed) return resolve();
        stdin.once('close', resolve);
        stdin.end('farewell\n', () => resolve());
      }),
  };
}

function notStarted(log: Log, cause: unknown): void {
  log.warn({ error: cause instanceof Error ? cause.message : String(cause) }, 'watchdog not started');
}
