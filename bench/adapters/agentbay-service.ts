/** The process that serves: it says where, and ends with its parent. */
import { AgentBayServer } from '../../src/providers/agentbay/agentbay-server.fixture.ts';
import { serveNamespaces } from '../../test/setup/serve-namespaces.ts';

const apiKey = 'akm-bench';
const { server, close } = await serveNamespaces((backing) => new AgentBayServer(backing, apiKey));
process.once('disconnect', () => void close());
process.send?.({ url: server.url, apiKey });
