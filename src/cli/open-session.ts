/** A conversation's sandbox, with what the user must know of it said on stderr. */
import type { SandboxOptions, Session, Sublet } from '../core/api.ts';
import { parseSessionKey } from '../core/session-key.ts';
import type { Terminal } from './terminal.ts';

export async function openSession(
  sublet: Sublet,
  thread: string,
  options: SandboxOptions,
  terminal: Terminal,
): Promise<Session> {
  const session = await sublet.session({ ...parseSessionKey(thread), ...options });
  for (const notice of session.notices) await terminal.write('stderr', `sublet: note: ${notice.message}\n`);
  return session;
}
