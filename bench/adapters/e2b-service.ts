/** The process that serves: it says where, and ends with its parent. */
import { startE2bService } from '../../src/server/e2b/e2b-service.fixture.ts';

const service = await startE2bService();
process.once('disconnect', () => void service.close());
process.send?.({ url: service.url, apiKey: service.apiKey });
