/** `/files`: contents in and out. */
import type { IncomingMessage } from 'node:http';
import { basename } from 'node:path/posix';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FileContent, Files } from '../../core/files.ts';
import { E2bRefusal } from './e2b-refusal.ts';
import { type Exchange, header, readBody, sendJson, write } from './http-exchange.ts';

/** A form is held in memory; a stream of octets is not. */
const MAX_FORM_BYTES = 512 * 1024 * 1024;

export async function serveFiles(files: Files, exchange: Exchange): Promise<void> {
  switch (exchange.method) {
    case 'GET':
      return download(files, exchange);
    case 'POST':
      return upload(files, exchange);
    default:
      throw new E2bRefusal(405, `${exchange.method} is not for files.`);
  }
}

async function download(files: Files, { url, response }: Exchange): Promise<void> {
  const path = url.searchParams.get('path') ?? '';
  const info = await files.stat(path);
  if (info.kind === 'directory') throw new E2bRefusal(400, `path '${path}' is a directory`);
  const chunks = files.readStream(path)[Symbol.asyncIterator]();
  // Before the head, so that what cannot be read is refused.
  let next = await chunks.next();
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  try {
    for (; next.done !== true && !response.destroyed; next = await chunks.next()) await write(response, next.value);
    response.end();
  } catch {
    // The head is out: a broken connection is the only way left to say that this is not all.
    response.destroy();
  } finally {
    await chunks.return?.();
  }
}

async function upload(files: Files, { url, request, response }: Exchange): Promise<void> {
  const path = url.searchParams.get('path') ?? '';
  const type = header(request, 'content-type') ?? '';
  const parts = type.startsWith('multipart/form-data')
    ? await readForm(request, path)
    : [{ path, content: body(request) }];
  const written = [];
  for (const part of parts) {
    if (part.path === '') throw new E2bRefusal(400, 'A file needs a path.');
    await files.write(part.path, part.content);
    const info = await files.stat(part.path);
    written.push({ name: info.name || basename(part.path), type: 'file', path: info.path });
  }
  sendJson(response, 200, written);
}

function body(request: IncomingMessage): AsyncIterable<Uint8Array> {
  return header(request, 'content-encoding') === 'gzip' ? request.pipe(createGunzip()) : request;
}

/** With one file the query names its place; with several each part does. */
async function readForm(request: IncomingMessage, path: string): Promise<{ path: string; content: FileContent }[]> {
  const bytes = await readBody(request, MAX_FORM_BYTES);
  const form = await new Response(bytes, { headers: { 'content-type': header(request, 'content-type') ?? '' } })
    .formData()
    .catch(() => {
      throw new E2bRefusal(400, 'The form could not be read.');
    });
  const parts = form.getAll('file').flatMap((value) => (typeof value === 'string' ? [] : [value]));
  if (parts.length === 0) throw new E2bRefusal(400, 'The form has no file.');
  return parts.map((part) => ({
    path: parts.length === 1 && path !== '' ? path : part.name,
    content: Readable.fromWeb(part.stream()),
  }));
}
