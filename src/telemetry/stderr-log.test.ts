import { describe, expect, it } from 'vitest';
import { parseLogLevel, type LogLevel } from './log-level.ts';
import { createStderrLog } from './stderr-log.ts';

function logged(level: LogLevel, use: (log: ReturnType<typeof createStderrLog>) => void): string[] {
  const lines: string[] = [];
  use(createStderrLog({ level, now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6), write: (line) => lines.push(line) }));
  return lines;
}

describe('createStderrLog', () => {
  it('prints time, level, message and fields on one line', () => {
    const lines = logged('debug', (log) =>
      log.debug({ sandboxId: 'sbx_1', ms: 3, note: 'a b', gone: undefined }, 'ready'),
    );
    expect(lines).toEqual(['03:04:05.006 debug ready sandboxId=sbx_1 ms=3 note="a b"\n']);
  });

  it('leaves out what is below its level', () => {
    const lines = logged('warn', (log) => {
      log.debug({}, 'd');
      log.info({}, 'i');
      log.warn({}, 'w');
      log.error({}, 'e');
    });
    expect(lines.map((line) => line.split(' ').at(-1))).toEqual(['w\n', 'e\n']);
  });

  it('says nothing when silent', () => {
    expect(logged('silent', (log) => log.error({}, 'e'))).toEqual([]);
  });

  it('keeps a value with a line break on its line', () => {
    const [line] = logged('info', (log) => log.info({ output: 'a\nb' }, 'x'));
    expect(line?.trimEnd()).not.toContain('\n');
  });

  it('masks secrets', () => {
    expect(logged('info', (log) => log.info({ apiKey: 'hunter2' }, 'x')).join('')).not.toContain('hunter2');
  });
});

describe('parseLogLevel', () => {
  it('reads a level in any case and nothing else', () => {
    expect(parseLogLevel(' DEBUG ')).toBe('debug');
    expect(parseLogLevel('verbose')).toBeUndefined();
    expect(parseLogLevel(undefined)).toBeUndefined();
  });
});
