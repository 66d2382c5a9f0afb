/** Which store the command line uses, and what it says about it. */
import { access } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../setup/postgres.ts';
import { requirement } from '../setup/requirements.ts';
import { Installation } from './installation.ts';

let sublet: Installation;

beforeAll(async () => {
  sublet = await Installation.create();
});

afterAll(() => sublet.remove());

describe('SUBLET_STORE', () => {
  it('names a file other than the one in the home', async () => {
    const file = path.join(sublet.files, 'elsewhere/registry.db');
    const env = { SUBLET_STORE: `sqlite:${file}` };
    await sublet.output(['run', '--sandbox', 'local', '--', 'true'], { env });
    await access(file);
    await expect(access(path.join(sublet.home, 'sublet.db'))).rejects.toThrow('ENOENT');
    expect(await sublet.json(['ls', '--all', '--json'], { env })).toHaveLength(1);
  });

  it('is refused when it names no store, and nothing runs', async () => {
    const { status, stdout, stderr } = await sublet.run(['run', '--sandbox', 'local', '--', 'echo', 'ran'], {
      env: { SUBLET_STORE: 'mysql://ada:hunter2@db/x' },
    });
    expect([status, stdout]).toEqual([78, '']);
    expect(stderr).toContain('SUBLET_STORE names no store.');
    expect(stderr).not.toContain('hunter2');
  });

  it('is explained without its password', async () => {
    const env = { SUBLET_STORE: 'postgres://ada:hunter2@db.example/agents' };
    const rows = await sublet.json(['config', 'explain', 'local', '--json'], { env });
    expect(rows.find((row) => row['path'] === 'store')).toEqual({
      path: 'store',
      value: 'postgres://ada@db.example/agents',
      source: 'env SUBLET_STORE',
    });
  });

  it('that does not answer is a failure that doctor reports, without its password', async () => {
    const env = { SUBLET_STORE: 'postgres://ada:hunter2@127.0.0.1:1/agents' };
    const { status, stdout, stderr } = await sublet.run(['doctor', 'local'], { env });
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^store: not usable here\n {2}FAIL {2}postgres:\/\/ada@127\.0\.0\.1:1\/agents: .*ECONNREFUSED/,
    );
    expect(stdout + stderr).not.toContain('hunter2');
  });
});

describe.runIf(await requirement('postgres'))('a store on Postgres', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
    await sublet.output(['config', 'set', 'SUBLET_STORE'], { input: database.url });
  });

  afterAll(async () => {
    await sublet.output(['config', 'unset', 'SUBLET_STORE']);
    await database.drop();
  });

  it('holds what the command line does, from any process, as config.env says', async () => {
    expect(await sublet.output(['run', '--sandbox', 'local', '--', 'echo', 'hi'])).toBe('hi');
    const events = await sublet.json(['events', '--json']);
    const moves = events.map((event) => String(event['type'])).filter((type) => type.startsWith('sandbox.'));
    expect(moves.toSorted()).toEqual(
      ['creating', 'destroyed', 'destroying', 'running'].map((move) => `sandbox.${move}`),
    );
    expect(await database.query('select state from sublet.sandboxes')).toEqual([{ state: 'destroyed' }]);
  });

  it('answers, says doctor', async () => {
    const [probe] = await sublet.json(['doctor', '--json', 'local']);
    expect(probe).toMatchObject({
      store: database.url.replace(/:[^:]*@/, '@'),
      usable: true,
      findings: [{ level: 'ok', message: expect.stringMatching(/^answers, installation ins_/) }],
    });
  });

  it('does not keep the command line from ending', async () => {
    expect(await sublet.output(['ls', '--quiet'])).toBe('');
  });
});
