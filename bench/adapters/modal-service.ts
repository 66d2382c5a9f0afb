/** The process that serves: it says where, and ends with its parent. */
import { ModalServer } from '../../src/providers/modal/modal-server.fixture.ts';
import { serveNamespaces } from '../../test/setup/serve-namespaces.ts';

const apiKey = 'modal-bench';
const token = { tokenId: apiKey, tokenSecret: apiKey };
const { server, close } = await serveNamespaces((backing) => new ModalServer(backing, token));
process.once('disconnect', () => void close());
process.send?.({ url: server.url, apiKey });
