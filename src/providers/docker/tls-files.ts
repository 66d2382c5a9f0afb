/** The certificates for an engine that is spoken to over TLS. */
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { SubletError } from '../../core/errors.ts';
import type { TlsFiles } from './engine-endpoint.ts';

/** CONFIG_INVALID when a file cannot be read. An empty name is no file: then the system's authorities count. */
export async function readTlsFiles(files: TlsFiles): Promise<RequestOptions> {
  const [ca, cert, key] = await Promise.all([files.caFile, files.certFile, files.keyFile].map(readPem));
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    rejectUnauthorized: !files.skipVerify,
  };
}

async function readPem(path: string): Promise<Buffer | undefined> {
  if (path === '') return undefined;
  return readFile(path).catch((cause: Error) => {
    throw new SubletError('CONFIG_INVALID', `The certificate ${path} cannot be read: ${cause.message}`, {
      cause,
      hint: 'Check DOCKER_CERT_PATH, or the TLS files of the Docker context.',
    });
  });
}
