/** What is on the disk of a sandbox, as services keep it in snapshots and images. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxHandle } from '../../provider/provider.ts';

/** Where the sandboxes underneath can be written. */
const WRITABLE = 'workspace home';

export class DiskArchive {
  readonly #bytes: Uint8Array;
  readonly #roots: string;

  private constructor(bytes: Uint8Array, roots: string) {
    this.#bytes = bytes;
    this.#roots = roots;
  }

  /** `roots` are directories, without the slash before them. */
  static async take({ commands }: SandboxHandle, roots: string = WRITABLE): Promise<DiskArchive> {
    const chunks: Uint8Array[] = [];
    const { exitCode, stderr } = await commands.run(`tar -C / -cf - ${roots}`, {
      maxOutputBytes: 0,
      onStdout: (chunk) => void chunks.push(Uint8Array.from(chunk)),
    });
    // 1: something changed while it was read.
    if (exitCode === 0 || exitCode === 1) return new DiskArchive(Buffer.concat(chunks), roots);
    throw new SubletError('FILE_FAILED', `The disk was not read: ${stderr}`);
  }

  async putInto({ commands }: SandboxHandle): Promise<void> {
    const unpack = `tar -C / -xf - --no-overwrite-dir ${this.#roots}`;
    const { exitCode, stderr } = await commands.run(unpack, { stdin: this.#bytes });
    if (exitCode !== 0) throw new SubletError('FILE_FAILED', `The disk was not written: ${stderr}`);
  }
}
