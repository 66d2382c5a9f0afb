/** URLs that carry the right to one file: a digest of what may be done and the sandbox's token. */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface SignedRequest {
  readonly path: string;
  readonly operation: 'read' | 'write';
  readonly user: string;
  readonly signature: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number | undefined;
}

export function isSignedWith(token: string, request: SignedRequest, nowMs: number): boolean {
  const { path, operation, user, expiresAt } = request;
  if (expiresAt !== undefined && expiresAt * 1000 < nowMs) return false;
  const raw = [path, operation, user, token, ...(expiresAt === undefined ? [] : [String(expiresAt)])].join(':');
  const expected = `v1_${createHash('sha256').update(raw).digest('base64').replace(/=+$/, '')}`;
  return isSame(expected, request.signature);
}

/** In a time that does not depend on where the two differ. */
export function isSame(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(left, right);
}
