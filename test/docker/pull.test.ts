/** An image that the engine has to fetch, from a registry on loopback that speaks as any other. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dockerHost, requirement } from '../setup/requirements.ts';
import { openProvider, signal, specFor } from './providers.ts';

const run = promisify(execFile);
const host = dockerHost() ?? '';
const MEDIA = 'application/vnd.docker';
const PIECE_BYTES = 1_000_000;

// Something that does not shrink, so that there is progress to tell.
const LAYER = `
set -e; mkdir -p "$1/bin" "$1/tmp"; cp "$(command -v busybox)" "$1/bin/busybox"
for name in $(busybox --list); do [ -e "$1/bin/$name" ] || ln -s busybox "$1/bin/$name"; done
head -c 8000000 /dev/urandom >"$1/ballast"
tar --create --gzip --directory "$1" --file "$2" .
`;

describe.runIf(await requirement('docker'))('an image that is not there', () => {
  let dir = '';
  let registry: Server;
  let repository = '';

  beforeAll(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'sublet-pull-'));
    await run('sh', ['-c', LAYER, 'sh', path.join(dir, 'root'), path.join(dir, 'layer')]);
    registry = serve(await readFile(path.join(dir, 'layer'))).listen(0, '127.0.0.1');
    await once(registry, 'listening');
    repository = `127.0.0.1:${(registry.address() as AddressInfo).port}/sublet/pulled`;
  });
  afterAll(async () => {
    registry.closeAllConnections();
    registry.close();
    await run('docker', ['--host', host, 'rmi', '--force', `${repository}:1`]).catch(() => undefined);
    await rm(dir, { recursive: true, force: true });
  });

  it('is pulled, with progress, and used', async () => {
    const image = `${repository}:1`;
    const messages: string[] = [];
    const provider = await openProvider({ host });
    const onProgress = (message: string): void => void messages.push(message);
    const { commands } = await provider.create(specFor(image, { onProgress }), signal);
    expect((await commands.run('wc -c </ballast')).stdout.trim()).toBe('8000000');
    expect(messages[0]).toBe(`Pulling the image ${image}.`);
    expect(messages.at(-1)).toMatch(/: \d+0 % of \d+ MB\.$/);
    const again: string[] = [];
    await provider.create(specFor(image, { onProgress: (message) => void again.push(message) }), signal);
    expect(again).toEqual([]);
  });

  it('and that nobody has: the error names it and says what to do', async () => {
    const image = `${repository}:2`;
    await expect((await openProvider({ host })).create(specFor(image), signal)).rejects.toMatchObject({
      code: 'CREATE_FAILED',
      message: expect.stringContaining(image) as string,
      details: { image },
      hint: expect.stringContaining(`docker pull ${image}`) as string,
    });
  });
});

/** A registry with one image under the tag 1. */
function serve(layer: Buffer): Server {
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: [digest(gunzipSync(layer))] },
    }),
  );
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: `${MEDIA}.distribution.manifest.v2+json`,
      config: { mediaType: `${MEDIA}.container.image.v1+json`, size: config.length, digest: digest(config) },
      layers: [{ mediaType: `${MEDIA}.image.rootfs.diff.tar.gzip`, size: layer.length, digest: digest(layer) }],
    }),
  );
  const blobs = new Map([config, layer].map((blob) => [digest(blob), blob]));
  return createServer((request, response) => {
    const [, kind, reference = ''] = /\/(manifests|blobs)\/([^/]+)$/.exec(request.url ?? '') ?? [];
    const isManifest = kind === 'manifests' && (reference === '1' || reference === digest(manifest));
    const found = isManifest ? manifest : blobs.get(reference);
    if (request.url === '/v2/') return void response.end('{}');
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' });
      return void response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
    }
    const type = isManifest ? `${MEDIA}.distribution.manifest.v2+json` : 'application/octet-stream';
    const headers = { 'content-type': type, 'content-length': found.length, 'docker-content-digest': digest(found) };
    response.writeHead(200, headers);
    if (request.method === 'HEAD') response.end();
    else Readable.from(paced(found)).pipe(response);
  });
}

/** An engine says how far it is no more than ten times a second: what comes at once has no progress. */
async function* paced(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (at > 0) await setTimeout(150);
    yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

function digest(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
