/** The images of the account: those from a registry, which are empty here, and snapshots, which hold what was in a sandbox. */
import { randomBytes } from 'node:crypto';
import type { SandboxHandle } from '../../provider/provider.ts';
import { DiskArchive } from '../../testing/loopback/disk-archive.ts';
import { GRPC, GrpcRefusal } from './grpc-server.fixture.ts';

/** Where the sandboxes underneath can be written. */
const ROOTS = 'workspace tmp home/sandbox';

export class ModalImages {
  /** By id; undefined for one with nothing of its own. */
  readonly #archives = new Map<string, DiskArchive | undefined>();
  readonly #byTag = new Map<string, string>();
  readonly #bySnapshot = new Map<string, Promise<string>>();

  get snapshots(): number {
    return [...this.#archives.values()].filter((archive) => archive !== undefined).length;
  }

  /** The same lines, the same image. */
  build(lines: readonly string[]): string {
    const tag = lines.join('\n');
    const known = this.#byTag.get(tag);
    if (known !== undefined) return known;
    const id = this.#add(undefined);
    this.#byTag.set(tag, id);
    return id;
  }

  /** Asked for twice under one snapshot id, it is taken once. */
  snapshot(snapshotId: string, sandbox: SandboxHandle): Promise<string> {
    const taken =
      this.#bySnapshot.get(snapshotId) ?? DiskArchive.take(sandbox, ROOTS).then((archive) => this.#add(archive));
    this.#bySnapshot.set(snapshotId, taken);
    return taken;
  }

  /** Puts what the image has into a new sandbox. */
  async unpack(id: string, sandbox: SandboxHandle): Promise<void> {
    await this.#archives.get(id)?.putInto(sandbox);
  }

  assertThere(id: string): void {
    if (this.#archives.has(id)) return;
    throw new GrpcRefusal(GRPC.FAILED_PRECONDITION, `Could not find image with ID '${id}'`);
  }

  delete(id: string): void {
    this.assertThere(id);
    this.#archives.delete(id);
  }

  #add(archive: DiskArchive | undefined): string {
    const id = `im-${randomBytes(11).toString('hex')}`;
    this.#archives.set(id, archive);
    return id;
  }
}
