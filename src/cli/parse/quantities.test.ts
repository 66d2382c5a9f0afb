import { describe, expect, it } from 'vitest';
import { parseCount, parseCpuMillis, parseDurationMs, parseSizeBytes } from './quantities.ts';

describe('parseDurationMs', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['45', 45_000],
  ])('reads %s', (text, ms) => {
    expect(parseDurationMs(text, '--timeout')).toBe(ms);
  });

  it.each(['', '0', '0ms', 'soon', '5x', '-5s', '5s later', '1e3', '30 s'])(
    'refuses "%s" and names the option',
    (text) => {
      expect(() => parseDurationMs(text, '--timeout')).toThrow(/^--timeout takes a duration/);
    },
  );
});

describe('parseSizeBytes', () => {
  it.each([
    ['512m', 512 * 2 ** 20],
    ['1.5GiB', 1.5 * 2 ** 30],
    ['4096', 4096],
    ['64K', 65_536],
  ])('reads %s in powers of 1024', (text, bytes) => {
    expect(parseSizeBytes(text, '--memory')).toBe(bytes);
  });

  it.each(['', '0', 'much', '-1m', '5x'])('refuses "%s" and names the option', (text) => {
    expect(() => parseSizeBytes(text, '--memory')).toThrow(/^--memory takes a size/);
  });
});

describe('parseCpuMillis', () => {
  it('reads cores as thousandths', () => {
    expect(parseCpuMillis('1.5', '--cpus')).toBe(1_500);
    expect(parseCpuMillis('0.25', '--cpus')).toBe(250);
  });

  it.each(['0', '-1', 'two', ''])('refuses "%s"', (text) => {
    expect(() => parseCpuMillis(text, '--cpus')).toThrow(/^--cpus takes a number of cores/);
  });
});

describe('parseCount', () => {
  it('reads whole numbers and nothing else', () => {
    expect(parseCount('64', '--pids')).toBe(64);
    for (const text of ['1.5', '-1', '', 'x', '1e400', '99999999999999999999']) {
      expect(() => parseCount(text, '--pids')).toThrow(/^--pids takes a whole number/);
    }
  });
});
