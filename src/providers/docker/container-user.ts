/** Who a container's commands run as, in numbers. */
import { SubletError } from '../../core/errors.ts';
import { untar } from '../../core/tar/untar.ts';
import type { DockerApi } from './docker-api.ts';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** As an image or a profile names it: a user or uid, with or without a group. */
export function isRoot(user: string): boolean {
  return /^(0|root)?(:.*)?$/.test(user);
}

/** CONFIG_INVALID for a user that the image does not know. */
export async function userIds(
  api: DockerApi,
  containerId: string,
  user: string,
  signal: AbortSignal,
): Promise<UserIds> {
  const [name = '', group] = user.split(':');
  const passwd = async (): Promise<string> => readSmallFile(api, containerId, '/etc/passwd', signal);
  // name:password:uid:gid:…
  const entry = isNumber(name) && group !== undefined ? undefined : findLine(await passwd(), name, [0, 2]);
  const uid = isNumber(name) ? name : entry?.[2];
  if (uid === undefined) throw unknown(`user "${name}"`);
  if (group === undefined) return { uid: Number(uid), gid: Number(entry?.[3] ?? 0) };
  if (isNumber(group)) return { uid: Number(uid), gid: Number(group) };
  const gid = findLine(await readSmallFile(api, containerId, '/etc/group', signal), group, [0])?.[2];
  if (gid === undefined) throw unknown(`group "${group}"`);
  return { uid: Number(uid), gid: Number(gid) };
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

function findLine(table: string, wanted: string, columns: readonly number[]): readonly string[] | undefined {
  return table
    .split('\n')
    .map((line) => line.split(':'))
    .find((fields) => columns.some((column) => fields[column] === wanted));
}

/** Empty when it is not there. */
async function readSmallFile(api: DockerApi, containerId: string, path: string, signal: AbortSignal): Promise<string> {
  const answer = await api.getArchive(containerId, path, signal).catch(() => undefined);
  if (answer === undefined) return '';
  const chunks: Uint8Array[] = [];
  for await (const entry of untar(answer)) {
    if (entry.kind === 'file') for await (const chunk of entry.body) chunks.push(Uint8Array.from(chunk));
  }
  return Buffer.concat(chunks).toString('utf8');
}

function unknown(what: string): SubletError {
  return new SubletError('CONFIG_INVALID', `The image has no ${what}.`, {
    hint: 'Set docker.user to one that it has, or to numbers: uid:gid.',
  });
}
