/** The process that serves: it says where, and ends with its parent. */
import { BoxliteServer } from '../../src/providers/boxlite/boxlite-server.fixture.ts';
import { serveNamespaces } from '../../test/setup/serve-namespaces.ts';

const apiKey = 'blk_bench';
const { server, close } = await serveNamespaces((backing) => new BoxliteServer(backing, apiKey));
process.once('disconnect', () => void close());
process.send?.({ url: server.url, apiKey });
