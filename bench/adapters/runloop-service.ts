/** The process that serves: it says where, and ends with its parent. */
import { RunloopServer } from '../../src/providers/runloop/runloop-server.fixture.ts';
import { serveNamespaces } from '../../test/setup/serve-namespaces.ts';

const apiKey = 'ak_bench_key';
const { server, close } = await serveNamespaces((backing) => new RunloopServer(backing, apiKey));
process.once('disconnect', () => void close());
process.send?.({ url: server.url, apiKey });
