/** The process that serves: it says where, and ends with its parent. */
import { API_KEY, startDaytonaService } from '../../src/providers/daytona/daytona-service.fixture.ts';

const { server, close } = await startDaytonaService();
process.once('disconnect', () => void close());
process.send?.({ url: `${server.url}/api`, apiKey: API_KEY });
