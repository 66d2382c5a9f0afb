import { describe, expect, it } from 'vitest';
import { watchdogSetting } from './watchdog-setting.ts';

describe('SUBLET_WATCHDOG', () => {
  it.each([
    ['0', false],
    ['FALSE', false],
    ['1', true],
    [' true ', true],
  ])('takes "%s"', (word, value) => {
    expect(watchdogSetting({ SUBLET_WATCHDOG: word }, refuse)).toEqual({ value, source: 'env SUBLET_WATCHDOG' });
  });

  it.each([undefined, ''])('is on when it is %j', (word) => {
    expect(watchdogSetting({ SUBLET_WATCHDOG: word }, refuse)).toEqual({ value: true, source: 'default' });
  });

  it('stays on, with a warning, when the word means nothing', () => {
    const warnings: string[] = [];
    const setting = watchdogSetting({ SUBLET_WATCHDOG: 'nope' }, (message) => warnings.push(message));
    expect(setting).toEqual({ value: true, source: 'default' });
    expect(warnings).toEqual(['SUBLET_WATCHDOG is ignored: it must be 0 or 1.']);
  });
});

function refuse(message: string): void {
  throw new Error(message);
}
