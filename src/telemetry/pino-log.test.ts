import { describe, expect, it } from 'vitest';
import type { Log } from './log.ts';
import { createPinoLog } from './pino-log.ts';

async function logged(use: (log: Log) => void): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  use(await createPinoLog({ destination: { write: (line) => lines.push(line) } }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('createPinoLog', () => {
  it('writes one JSON object per entry with the fields and the message', async () => {
    const [entry] = await logged((log) => log.info({ sandboxId: 'sbx_1' }, 'ready'));
    expect(entry).toMatchObject({ level: 30, sandboxId: 'sbx_1', msg: 'ready' });
    expect(entry?.['time']).toBeTypeOf('number');
  });

  it('leaves out what is below its level', async () => {
    const entries = await logged((log) => {
      log.debug({}, 'd');
      log.warn({}, 'w');
      log.error({}, 'e');
    });
    expect(entries.map((entry) => entry['msg'])).toEqual(['w', 'e']);
  });

  it('masks secrets, also inside errors', async () => {
    const error = Object.assign(new Error('no'), { apiKey: 'hunter2' });
    const [entry] = await logged((log) => log.warn({ error, env: { A: 'hunter2' }, deep: { token: 'hunter2' } }, 'x'));
    expect(JSON.stringify(entry)).not.toContain('hunter2');
    expect(entry).toMatchObject({ env: { A: '***' }, deep: { token: '***' }, error: { message: 'no' } });
  });

  it('writes nothing about the host it runs on', async () => {
    const [entry] = await logged((log) => log.info({}, 'x'));
    expect(Object.keys(entry ?? {}).toSorted()).toEqual(['level', 'msg', 'time']);
  });
});
