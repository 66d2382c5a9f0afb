/** Where Sublet keeps its things: `~/.sublet`, or `SUBLET_HOME`. Nothing is made before the first write. */
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { SubletError } from '../core/errors.ts';

export interface HomePaths {
  readonly home: string;
  readonly profilesDir: string;
  readonly configEnv: string;
  readonly database: string;
  readonly snapshotsDir: string;
  providerStateDir(providerId: string): string;
}

/** The variables of a process, as Node gives them. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function homePaths(env: Environment = process.env): HomePaths {
  const home = env['SUBLET_HOME'] ? resolve(env['SUBLET_HOME']) : join(userHome(), '.sublet');
  return {
    home,
    profilesDir: join(home, 'sandboxes'),
    configEnv: join(home, 'config.env'),
    database: join(home, 'sublet.db'),
    snapshotsDir: join(home, 'snapshots'),
    providerStateDir: (providerId) => join(home, 'providers', providerId),
  };
}

/** Makes the home, readable by its owner only. Already there is success, and its mode is left alone. */
export async function ensureHome(paths: HomePaths): Promise<void> {
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
}

function userHome(): string {
  try {
    return homedir();
  } catch (cause) {
    throw new SubletError('CONFIG_INVALID', 'This user has no home directory.', {
      cause,
      hint: 'Set SUBLET_HOME to a directory that Sublet may write.',
    });
  }
}
