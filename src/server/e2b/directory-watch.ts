/** Tells what changes in a directory, by looking at it again and again: every provider can list. */
import type { Clock } from '../../core/clock.ts';
import type { FileInfo } from '../../core/files.ts';

export interface WatchEvent {
  /** Relative to the directory. */
  readonly name: string;
  readonly type: 'EVENT_TYPE_CREATE' | 'EVENT_TYPE_WRITE' | 'EVENT_TYPE_REMOVE' | 'EVENT_TYPE_CHMOD';
}

export interface DirectoryWatchOptions {
  readonly root: string;
  readonly clock: Clock;
  look(): Promise<readonly FileInfo[]>;
  tell(event: WatchEvent): void;
}

const LOOK_EVERY_MS = 200;

type Entries = ReadonlyMap<string, FileInfo>;

export class DirectoryWatch {
  readonly #options: DirectoryWatchOptions;
  #seen: Entries;
  #isClosed = false;
  #cancel: () => void = () => undefined;

  /** What is there when this resolves is not told. */
  static async open(options: DirectoryWatchOptions): Promise<DirectoryWatch> {
    return new DirectoryWatch(options, toEntries(await options.look(), options.root));
  }

  private constructor(options: DirectoryWatchOptions, seen: Entries) {
    this.#options = options;
    this.#seen = seen;
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #schedule(): void {
    if (!this.#isClosed) this.#cancel = this.#options.clock.schedule(LOOK_EVERY_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    // A sandbox that does not answer now may answer at the next look.
    const infos = await this.#options.look().catch(() => undefined);
    if (infos !== undefined && !this.#isClosed) {
      const now = toEntries(infos, this.#options.root);
      for (const event of compare(this.#seen, now)) this.#options.tell(event);
      this.#seen = now;
    }
    this.#schedule();
  }
}

export function compare(before: Entries, now: Entries): readonly WatchEvent[] {
  const events: WatchEvent[] = [];
  for (const [name, info] of now) {
    const was = before.get(name);
    if (was === undefined) {
      events.push({ name, type: 'EVENT_TYPE_CREATE' });
      if (info.kind === 'file' && info.sizeBytes > 0) events.push({ name, type: 'EVENT_TYPE_WRITE' });
    } else if (info.kind === 'file' && (was.modifiedAt !== info.modifiedAt || was.sizeBytes !== info.sizeBytes)) {
      events.push({ name, type: 'EVENT_TYPE_WRITE' });
    }
    if (was !== undefined && was.mode !== info.mode) events.push({ name, type: 'EVENT_TYPE_CHMOD' });
  }
  for (const name of before.keys()) if (!now.has(name)) events.push({ name, type: 'EVENT_TYPE_REMOVE' });
  return events;
}

function toEntries(infos: readonly FileInfo[], root: string): Entries {
  const prefix = root === '/' ? root : `${root}/`;
  return new Map(
    infos.map((info) => [info.path.startsWith(prefix) ? info.path.slice(prefix.length) : info.name, info]),
  );
}
