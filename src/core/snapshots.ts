/** Snapshots of a working directory: what is known of one, and where its bytes are kept. */
import type { SessionKey } from './session-key.ts';

export interface SnapshotInfo {
  readonly id: string;
  readonly at: number;
  readonly bytes: number;
  /** Of the archive, in hexadecimal. */
  readonly sha256: string;
}

/** Where archives are kept. Each is whole or not there, and readable by its owner only. */
export interface SnapshotArchive {
  /** Resolves when every byte is safe. A `content` that fails leaves nothing. */
  save(key: SessionKey, content: AsyncIterable<Uint8Array>): Promise<Omit<SnapshotInfo, 'at'>>;
  /** The bytes that were saved. SNAPSHOT_UNREADABLE before the first of them when they are gone or not the same any more. */
  read(key: SessionKey, snapshot: SnapshotInfo): AsyncIterable<Uint8Array>;
  /** Keeps the newest few of the key's, `current` among them. */
  trim(key: SessionKey, current: SnapshotInfo): Promise<void>;
  /** Removes those of keys of which nothing is known any more. */
  prune(isKnown: (key: SessionKey) => Promise<boolean>): Promise<void>;
}
