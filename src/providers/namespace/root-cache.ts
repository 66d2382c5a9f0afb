/** Images and their prepared roots, remembered for a moment: looking at the host again for every sandbox costs more than it tells. */
import type { Clock } from '../../core/clock.ts';
import type { Mount } from '../../core/spec.ts';
import { type Image, openImage } from './image.ts';
import { type MountPoint, mountPoint } from './mount-rules.ts';
import { prepareSkeleton } from './skeleton.ts';

export interface PreparedRoot {
  readonly image: Image;
  readonly root: string;
}

const FRESH_MS = 10_000;

export class RootCache {
  readonly #stateDir: string;
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly at: number; readonly prepared: Promise<PreparedRoot> }>();

  constructor(stateDir: string, clock: Clock) {
    this.#stateDir = stateDir;
    this.#clock = clock;
  }

  get(
    image: string | undefined,
    mounts: readonly Mount[],
    onProgress: (message: string) => void,
  ): Promise<PreparedRoot> {
    // Named only where there are any: a plain run has none, and does not read what is not asked for.
    const targets = mounts.map((mount) => mountPoint(mount));
    const key = JSON.stringify([image, targets]);
    const now = this.#clock.now();
    const known = this.#known.get(key);
    if (known !== undefined && now - known.at < FRESH_MS && now >= known.at) return known.prepared;
    this.#known.clear();
    const prepared = this.#prepare(image, targets, onProgress);
    prepared.catch(() => this.#known.delete(key));
    this.#known.set(key, { at: now, prepared });
    return prepared;
  }

  async #prepare(
    name: string | undefined,
    targets: readonly MountPoint[],
    onProgress: (message: string) => void,
  ): Promise<PreparedRoot> {
    const image = await openImage(this.#stateDir, name, onProgress);
    return { image, root: await prepareSkeleton(this.#stateDir, image, targets) };
  }
}
