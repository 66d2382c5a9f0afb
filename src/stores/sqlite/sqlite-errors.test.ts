import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import { toStoreError } from './sqlite-errors.ts';

describe('toStoreError', () => {
  it('says that the disk is full and what to do', () => {
    const cause = failureOf((database) => {
      database.exec('pragma max_page_count = 2; create table a (text)');
      database.exec(`insert into a values (zeroblob(100000))`);
    });
    const error = toStoreError(cause, '/home/u/.sublet/sublet.db');
    expect(error.code).toBe('STORE_FAILED');
    expect(error.message).toContain('/home/u/.sublet/sublet.db');
    expect(error.message).toContain('full');
    expect(error.hint).toMatch(/Free some space/);
    expect(error.hint).toContain('/home/u/.sublet/providers/');
    expect(error.cause).toBe(cause);
  });

  it('says that the file may not be written and what to do', () => {
    const cause = failureOf((database) => database.exec('pragma query_only = on; create table a (text)'));
    const error = toStoreError(cause, 'x.db');
    expect(error.code).toBe('STORE_FAILED');
    expect(error.hint).toMatch(/writable by this user/);
  });

  it('takes a fault of the file system for what it is', () => {
    const cause = Object.assign(new Error('EACCES: permission denied, mkdir'), { code: 'EACCES' });
    const error = toStoreError(cause, 'x.db');
    expect(error.message).toContain('EACCES');
    expect(error.hint).toMatch(/writable by this user/);
  });
});

function failureOf(action: (database: InstanceType<typeof DatabaseSync>) => void): unknown {
  const database = new DatabaseSync(':memory:');
  try {
    action(database);
  } catch (cause) {
    return cause;
  } finally {
    database.close();
  }
  throw new Error('Nothing failed.');
}
