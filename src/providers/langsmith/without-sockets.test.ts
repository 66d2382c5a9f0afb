/** The same where the package `ws` is missing: the SDK then runs each command as a request that waits for its end. */
import { register } from 'node:module';
import { expect, it } from 'vitest';
import { serveNamespaces } from '../../../test/setup/serve-namespaces.ts';
import { describeServiceAdapter } from '../../../test/setup/service-adapter.ts';
import { provider as module } from './index.ts';
import { langsmithFacts } from './langsmith-facts.fixture.ts';
import { LangsmithServer } from './langsmith-server.fixture.ts';
import { openLangsmithProvider } from './open-langsmith-provider.ts';

const KEY = 'lsv2_pt_test_key';

// For the SDK alone: the server needs it.
const HIDE_SOCKETS = `export const resolve = (name, context, next) => {
  if (name === 'ws' && context.parentURL?.includes('/node_modules/langsmith/')) throw new Error('Cannot find package ws');
  return next(name, context);
};`;
register(`data:text/javascript,${encodeURIComponent(HIDE_SOCKETS)}`);

describeServiceAdapter({
  title: 'the langsmith provider without WebSockets',
  module: { ...module, open: (context) => openLangsmithProvider(context, false) },
  start: () => serveNamespaces((backing) => new LangsmithServer(backing, KEY)),
  secrets: { LANGSMITH_API_KEY: KEY },
  options: ({ url }) => ({ endpoint: url, cwd: '/workspace' }),
  without: ['pause', 'pty'],
  sandboxes: (server) => server.sandboxes,
  facts: (server) => langsmithFacts(server, '/execute'),
  more: (subject) => {
    it('opens no WebSocket', () => expect(subject.server.dataplane.opened).toBe(0));
  },
});
