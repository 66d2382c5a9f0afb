/** How LangSmith is spoken to, and how it fails, for the faults that every adapter passes. */
import type { CloudSubject } from '../../testing/cloud-faults.ts';
import type { Answer } from '../../testing/loopback/fault-switchboard.ts';
import { type LangsmithServer, refusalBody } from './langsmith-server.fixture.ts';

/** `exec` is the end of the address that commands go to. */
export function langsmithFacts(
  server: LangsmithServer,
  exec: string,
): Pick<CloudSubject, 'faults' | 'matches' | 'refusal' | 'gone'> {
  return {
    faults: server.faults,
    matches: {
      create: ({ method, path }) => method === 'POST' && path.endsWith('/boxes'),
      find: ({ method, path }) => method === 'GET' && /\/boxes\/[^/?]+$/.test(path),
      list: ({ method, path }) => method === 'GET' && path.includes('/boxes?'),
      destroy: ({ method }) => method === 'DELETE',
      // The call that starts a command answers when all is over; what it writes comes with those that follow.
      exec: ({ path }) => path.endsWith(exec) && server.dataplane.executing > 0,
    },
    refusal: (status) => refused(status, `refused with ${status}`),
    gone: [
      { name: 'by name', operation: 'find', answer: refused(404, "Sandbox 'x' not found") },
      { name: 'for good', operation: 'find', answer: refused(410, "Sandbox 'x' is gone") },
      { name: 'without words', operation: 'find', answer: { status: 404, body: '' } },
      { name: 'when deleted twice', operation: 'destroy', answer: refused(404, "Sandbox 'x' not found") },
    ],
  };
}

function refused(status: number, message: string): Answer {
  return { status, body: refusalBody(message) };
}
