/** Where the local provider keeps what, and what a command's environment begins with. */
import { join } from 'node:path';
import { SubletError } from '../../core/errors.ts';

export interface LocalPaths {
  readonly root: string;
  readonly record: string;
  readonly workspace: string;
  /** Output and exits of background commands. */
  readonly commands: string;
}

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function sandboxesDir(stateDir: string): string {
  return join(stateDir, 'sandboxes');
}

/** USAGE for a name that is not a plain file name. */
export function sandboxPaths(stateDir: string, name: string): LocalPaths {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name)) {
    throw new SubletError('USAGE', `"${name}" cannot be the name of a sandbox.`, {
      hint: 'Use letters, digits, dots, dashes and underscores.',
    });
  }
  const root = join(sandboxesDir(stateDir), name);
  return {
    root,
    record: join(root, 'sandbox.json'),
    workspace: join(root, 'workspace'),
    commands: join(root, 'commands'),
  };
}

/** Different ids never share a directory: everything but letters, digits, `_` and `-` is escaped. */
export function volumePath(stateDir: string, contextId: string): string {
  const escaped = encodeURIComponent(contextId).replaceAll('.', '%2E').replaceAll('~', '%7E');
  return join(stateDir, 'volumes', `volume-${escaped}`);
}

/** Not the host's environment: its variables may be secrets. */
export function baseEnvironment(home: string): Readonly<Record<string, string>> {
  return { PATH: process.env['PATH'] ?? DEFAULT_PATH, HOME: home, LANG: 'C.UTF-8', TERM: 'xterm-256color' };
}
