/** Where Sublet keeps its things: `~/.sublet`, or `SUBLET_HOME`. Nothing is made before the first write. */
import { accessSync, constants, existsSync, mkdirSync, statfsSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { SubletError } from '../core/errors.ts';
import { isForbidden } from './private-file.ts';

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

/**
 * Makes the home, readable by its owner only. Already there is success, and its mode is left alone. PERMISSION_DENIED when this
 * user may not make it, CONFIG_INVALID when nobody can.
 */
export async function ensureHome({ home }: HomePaths): Promise<void> {
  // Nearly always there: to be told so by an error takes longer.
  if (isDirectory(home)) return;
  try {
    makeDirectories(home);
  } catch (cause) {
    throw unmakeable(home, cause as NodeJS.ErrnoException);
  }
}

/** Throws what `ensureHome` would, as far as can be told without making anything. */
export function assertMakeable({ home }: HomePaths): void {
  let above = home;
  while (!existsSync(above) && dirname(above) !== above) above = dirname(above);
  try {
    accessSync(above, constants.W_OK);
    // There everybody may write who may do everything, and nobody can make anything.
    if (KERNELS_OWN.includes(statfsSync(above).type)) throw Object.assign(new Error('not a place'), { code: 'ENOENT' });
  } catch (cause) {
    throw unmakeable(home, cause as NodeJS.ErrnoException);
  }
}

/** The magic numbers of /proc and /sys. */
const KERNELS_OWN: readonly number[] = [0x9f_a0, 0x62_65_65_72];

// One at a time: Node's own way to make all of them tries for ever where none can be made, as below /proc.
function makeDirectories(dir: string, isLastTry = false): void {
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST' && isDirectory(dir)) return;
    if (code !== 'ENOENT' || isLastTry || dirname(dir) === dir) throw cause;
    makeDirectories(dirname(dir));
    makeDirectories(dir, true);
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

const WHY: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'that file system is read-only',
  EEXIST: 'something that is no directory has its name',
  ENOTDIR: 'something above it is no directory',
  ENOENT: 'nothing can be made there',
};

function unmakeable(home: string, cause: NodeJS.ErrnoException): SubletError {
  return new SubletError(
    isForbidden(cause) ? 'PERMISSION_DENIED' : 'CONFIG_INVALID',
    `The home ${home} cannot be made: ${WHY[cause.code ?? ''] ?? cause.message}.`,
    { cause, details: { home }, hint: WRITABLE_HOME },
  );
}

const WRITABLE_HOME = 'Set SUBLET_HOME to a directory that Sublet may write.';

function userHome(): string {
  try {
    // A variable that is set to nothing would make it the directory that one is in.
    return homedir() || userInfo().homedir;
  } catch (cause) {
    throw new SubletError('CONFIG_INVALID', 'This user has no home directory.', {
      cause,
      hint: WRITABLE_HOME,
    });
  }
}
