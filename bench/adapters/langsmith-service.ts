/** The process that serves: it says where, and ends with its parent. */
import { LangsmithServer } from '../../src/providers/langsmith/langsmith-server.fixture.ts';
import { serveNamespaces } from '../../test/setup/serve-namespaces.ts';

const apiKey = 'lsv2_bench';
const { server, close } = await serveNamespaces((backing) => new LangsmithServer(backing, apiKey));
process.once('disconnect', () => void close());
process.send?.({ url: server.url, apiKey });
