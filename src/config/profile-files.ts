/** The profile files of a home. A file is read again only when it changed. */
import { statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type SubletError, toSubletError } from '../core/errors.ts';
import { parseProfile } from './parse-profile.ts';
import { isMissing, isOpenToOthers, unreadableError } from './private-file.ts';
import { isProfileName, type Profile, type RouteProfile } from './profile.ts';
import type { ProviderCatalog } from './provider-catalog.ts';

export interface ProfileSummary {
  readonly name: string;
  readonly file: string;
  /** Absent when the file is not valid, or is an ordered choice. */
  readonly provider?: string | undefined;
  readonly choices?: readonly string[] | undefined;
  readonly error?: SubletError | undefined;
}

export interface ProfileFilesOptions {
  readonly directory: string;
  readonly providers: ProviderCatalog;
  readonly warn: (message: string) => void;
  readonly now: () => number;
}

// A file asked for again within this long is taken as unchanged, so that a busy manager does not wait for the disk.
const FRESH_MS = 1_000;

interface CachedProfile {
  readonly stamp: string;
  readonly profile: Profile | RouteProfile | undefined;
  checkedAt: number;
}

const ABSENT = 'absent';

export class ProfileFiles {
  readonly #options: ProfileFilesOptions;
  readonly #cache = new Map<string, CachedProfile>();

  constructor(options: ProfileFilesOptions) {
    this.#options = options;
  }

  file(name: string): string {
    return join(this.#options.directory, `${name}.json`);
  }

  /** The profile of that name, or undefined when there is no such file. CONFIG_INVALID when it is not valid. */
  async load(name: string): Promise<Profile | RouteProfile | undefined> {
    if (!isProfileName(name)) return undefined;
    const now = this.#options.now();
    const cached = this.#cache.get(name);
    if (cached !== undefined && now >= cached.checkedAt && now - cached.checkedAt < FRESH_MS) return cached.profile;
    const file = this.file(name);
    const found = stampOf(file);
    if (cached?.stamp === found.stamp) {
      cached.checkedAt = now;
      return cached.profile;
    }
    const profile = found.stamp === ABSENT ? undefined : await this.#read(name, file, found.mode);
    this.#cache.set(name, { stamp: found.stamp, profile, checkedAt: now });
    return profile;
  }

  /** Every profile file by name, also those that are not valid. */
  async list(): Promise<readonly ProfileSummary[]> {
    const names = await this.names();
    return Promise.all(names.map((name) => this.#summary(name)));
  }

  async names(): Promise<readonly string[]> {
    const entries = await readdir(this.#options.directory).catch((cause: unknown) => {
      if (isMissing(cause)) return [];
      throw unreadableError(this.#options.directory, cause);
    });
    return entries
      .filter((entry) => entry.endsWith('.json'))
      .map((entry) => basename(entry, '.json'))
      .filter(isProfileName)
      .toSorted();
  }

  async #summary(name: string): Promise<ProfileSummary> {
    const file = this.file(name);
    try {
      const profile = await this.load(name);
      return { name, file, provider: profile?.provider, choices: profile?.choices };
    } catch (error) {
      return { name, file, error: toSubletError(error, 'CONFIG_INVALID') };
    }
  }

  async #read(name: string, file: string, mode: number): Promise<Profile | RouteProfile> {
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      throw unreadableError(file, cause);
    });
    const profile = await parseProfile(name, file, text, this.#options.providers);
    if (profile.choices === undefined && Object.keys(profile.secrets).length > 0 && isOpenToOthers(mode)) {
      this.#options.warn(`${file} holds a key and can be read by other users. Run: chmod 600 ${file}`);
    }
    return profile;
  }
}

function stampOf(file: string): { readonly stamp: string; readonly mode: number } {
  try {
    const { mtimeMs, ctimeMs, size, ino, mode } = statSync(file);
    return { stamp: `${ino}:${size}:${mtimeMs}:${ctimeMs}`, mode };
  } catch (cause) {
    if (isMissing(cause)) return { stamp: ABSENT, mode: 0 };
    throw unreadableError(file, cause);
  }
}
