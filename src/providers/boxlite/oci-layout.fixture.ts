/** A root file system of busybox alone, as an OCI layout in a directory: an image without a registry. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const APPLETS =
  'sh cat mkdir mkfifo dd base64 rm ls sleep head tail setsid mv wc touch chmod ln readlink stat find sort tr cut sed grep ps kill env id pwd seq tar';
const IMAGE = 'application/vnd.oci.image';

/** `busybox` is the path of one that needs no library. */
export async function makeOciLayout(directory: string, busybox: string): Promise<string> {
  const layout = join(directory, 'layout');
  const root = join(directory, 'root');
  for (const place of ['bin', 'tmp', 'etc', 'proc', 'sys', 'dev', 'workspace'])
    await mkdir(join(root, place), { recursive: true });
  await copyFile(busybox, join(root, 'bin', 'busybox'));
  for (const applet of APPLETS.split(' ')) await symlink('busybox', join(root, 'bin', applet));
  const { stdout: layer } = await run('tar', ['-cf', '-', '-C', root, '.'], { encoding: 'buffer', maxBuffer: 2 ** 28 });
  await mkdir(join(layout, 'blobs', 'sha256'), { recursive: true });

  const keep = async (mediaType: string, content: string | Buffer): Promise<Readonly<Record<string, unknown>>> => {
    const digest = createHash('sha256').update(content).digest('hex');
    await writeFile(join(layout, 'blobs', 'sha256', digest), content);
    return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(content) };
  };
  const layers = [await keep(`${IMAGE}.layer.v1.tar`, layer)];
  const platform = { architecture: process.arch === 'arm64' ? 'arm64' : 'amd64', os: 'linux' };
  const rootfs = { type: 'layers', diff_ids: layers.map((each) => each['digest']) };
  const config = await keep(
    `${IMAGE}.config.v1+json`,
    JSON.stringify({ ...platform, config: { Cmd: ['/bin/sh'], Env: ['PATH=/bin'] }, rootfs }),
  );
  const manifest = await keep(
    `${IMAGE}.manifest.v1+json`,
    JSON.stringify({ schemaVersion: 2, mediaType: `${IMAGE}.manifest.v1+json`, config, layers }),
  );
  await writeFile(
    join(layout, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, platform }] }),
  );
  await writeFile(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  return layout;
}
