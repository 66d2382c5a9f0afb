/** Named volumes: directories of the provider's that outlive the sandboxes which mount them. */
import { createHash } from 'node:crypto';
import { chown, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Made on first use. The name is hashed into the path, so that no name can point elsewhere. */
export async function openVolume(stateDir: string, contextId: string, owner: number | undefined): Promise<string> {
  const readable = contextId.replace(/[^A-Za-z0-9._-]/gu, '_').slice(0, 40);
  const dir = join(
    stateDir,
    'volumes',
    `${readable}-${createHash('sha256').update(contextId).digest('hex').slice(0, 12)}`,
  );
  await mkdir(dir, { recursive: true, mode: 0o755 });
  // Ours is also one whose maker was killed before it could give it away.
  if (owner !== undefined && (await stat(dir)).uid === process.getuid?.()) await chown(dir, owner, owner);
  return dir;
}
