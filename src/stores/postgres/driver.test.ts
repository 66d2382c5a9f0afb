/** `pg` is an optional peer: who uses another store neither installs nor loads it. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

const FORBID_PG = `
  import { register } from 'node:module';
  const hooks = "export const resolve = (name, context, next) => { if (name === 'pg') throw new Error('no such package'); return next(name, context); }";
  register('data:text/javascript,' + encodeURIComponent(hooks));
`;

async function runWithoutPg(source: string): Promise<string> {
  const forbid = `data:text/javascript,${encodeURIComponent(FORBID_PG)}`;
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--import', forbid, '--input-type=module', '--eval', source],
    { cwd: new URL('../../..', import.meta.url), stdio: ['ignore', 'pipe', 'inherit'] },
  );
  return (await text(child.stdout)).trim();
}

const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

describe('without the package pg', () => {
  it('opening a Postgres store says how to install it', async () => {
    const said = await runWithoutPg(`
      import { openPostgresStore } from ${module('./index.ts')};
      const error = await openPostgresStore({ url: 'postgres://ada:hunter2@host/db' }).catch((cause) => cause);
      console.log(error.code, '|', error.message, '|', error.hint);
    `);
    expect(said).toBe(
      'UNSUPPORTED | The Postgres store needs pg@^8.16.0, which did not load. | npm install pg@^8.16.0',
    );
  });

  it('everything else works', async () => {
    const said = await runWithoutPg(`
      import { open } from ${module('../../open.ts')};
      const sublet = await open({ store: 'memory', handleSignals: false });
      console.log((await sublet.sandboxes.list()).length);
      await sublet.close();
    `);
    expect(said).toBe('0');
  });
});
