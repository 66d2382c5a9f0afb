import { describe, expect, it } from 'vitest';
import { LostConnection, toStoreError, troubleOf } from './postgres-errors.ts';

function answer(code: string, message = 'as the server says it'): Error {
  return Object.assign(new Error(message), { code });
}

describe('troubleOf', () => {
  it.each([
    ['40001', 'busy'],
    ['40P01', 'busy'],
    ['55P03', 'busy'],
    ['57014', 'busy'],
    ['53300', 'busy'],
    ['57P01', 'lost'],
    ['57P03', 'lost'],
    ['25P03', 'lost'],
    ['25006', 'lost'],
    ['08006', 'lost'],
    ['23505', 'final'],
    ['42501', 'final'],
  ])('takes %s for %s', (code, trouble) => {
    expect(troubleOf(answer(code))).toBe(trouble);
  });

  it('takes what is not an answer of the server for a lost connection, and a fault of ours for neither', () => {
    expect(troubleOf(new LostConnection(new Error('Connection terminated unexpectedly')))).toBe('lost');
    expect(troubleOf(new TypeError('undefined is not a function'))).toBe('final');
  });
});

describe('toStoreError', () => {
  it.each([
    ['28P01', 'AUTH_FAILED'],
    ['28000', 'AUTH_FAILED'],
    ['42501', 'PERMISSION_DENIED'],
    ['3D000', 'STORE_FAILED'],
    ['53100', 'STORE_FAILED'],
    ['57P01', 'STORE_FAILED'],
    ['42P01', 'STORE_CORRUPT'],
    ['XX001', 'STORE_CORRUPT'],
    ['22P02', 'STORE_FAILED'],
  ])('makes %s into %s, with a hint and the server’s words', (code, ours) => {
    const error = toStoreError(answer(code), 'postgres://host/db');
    expect(error).toMatchObject({ code: ours, hint: expect.stringMatching(/\.$|;$/) });
    expect(error.message).toMatch(/^The store postgres:\/\/host\/db .*as the server says it\.$/);
  });

  it('says who did not answer, and keeps the cause', () => {
    const cause = new LostConnection(new Error('connect ECONNREFUSED 127.0.0.1:5432'));
    const error = toStoreError(cause, 'postgres://host/db');
    expect(error.message).toBe('The store postgres://host/db did not answer: connect ECONNREFUSED 127.0.0.1:5432.');
    expect(error.cause).toBe(cause);
  });
});
