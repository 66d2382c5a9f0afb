/** Snapshots: what was on the disk of a sandbox, for others to begin with. */
import { randomUUID } from 'node:crypto';
import type { Labels } from '../../core/spec.ts';
import type { BackingSandbox } from '../../testing/loopback/backing-sandboxes.ts';
import { DiskArchive } from '../../testing/loopback/disk-archive.ts';
import { Refusal } from '../../testing/loopback/loopback-server.ts';

export interface Snapshot {
  readonly id: string;
  readonly labels: Labels;
  putInto(box: BackingSandbox): Promise<void>;
}

interface Entry extends Snapshot {
  readonly name: string;
  isBuilding: boolean;
}

export class SnapshotShelf {
  readonly #entries: Entry[] = [];

  async take(name: string, box: BackingSandbox): Promise<unknown> {
    const archive = await DiskArchive.take(box.handle);
    const entry: Entry = {
      id: randomUUID(),
      name,
      labels: {},
      isBuilding: true,
      putInto: (other) => archive.putInto(other.handle),
    };
    this.#entries.push(entry);
    return this.#view(entry);
  }

  /** By id, or by name. */
  require(key: string): Snapshot {
    const entry = this.#entries.findLast(({ id, name }) => id === key || name === key || `${name}:latest` === key);
    if (entry === undefined) throw new Refusal(400, `Snapshot '${key}' not found`);
    if (entry.isBuilding) throw new Refusal(400, `Snapshot '${key}' is not ready`);
    return entry;
  }

  /** It is ready when it has been looked at once. */
  view(id: string): unknown {
    const entry = this.#entries.find((each) => each.id === id);
    if (entry === undefined) throw new Refusal(404, `Snapshot '${id}' not found`);
    const seen = this.#view(entry);
    entry.isBuilding = false;
    return seen;
  }

  #view({ id, name, labels, isBuilding }: Entry): unknown {
    return { id, name, labels, status: isBuilding ? 'building' : 'ready' };
  }
}
