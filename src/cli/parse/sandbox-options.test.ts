import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseEnv, parseMount } from './sandbox-options.ts';

describe('parseMount', () => {
  it('is read-only unless rw is asked for', () => {
    expect(parseMount('/a:/b')).toEqual({ source: '/a', target: '/b', readOnly: true });
    expect(parseMount('/a:/b:ro')).toEqual({ source: '/a', target: '/b', readOnly: true });
    expect(parseMount('/a:/b:rw')).toEqual({ source: '/a', target: '/b', readOnly: false });
  });

  it('takes a relative source from here', () => {
    expect(parseMount('data:/data').source).toBe(resolve('data'));
  });

  it.each(['/a', '/a:b', ':/b', '/a:/b:rx', '/a:/b:ro:x', ''])('refuses "%s"', (text) => {
    expect(() => parseMount(text)).toThrow(/^--mount takes SRC:DST/);
  });
});

describe('parseEnv', () => {
  it('keeps everything after the first = as the value', () => {
    expect(parseEnv('A=b=c', {})).toEqual([['A', 'b=c']]);
    expect(parseEnv('A=', {})).toEqual([['A', '']]);
  });

  it('takes a bare name from this process, and leaves out what is not set', () => {
    expect(parseEnv('A', { A: 'here' })).toEqual([['A', 'here']]);
    expect(parseEnv('B', { A: 'here' })).toEqual([]);
  });

  it('does not repeat the value in its error', () => {
    expect(() => parseEnv('BAD NAME=secret', {})).toThrow(/^(?!.*secret)/);
    expect(() => parseEnv('=secret', {})).toThrow(/^(?!.*secret)/);
  });
});
