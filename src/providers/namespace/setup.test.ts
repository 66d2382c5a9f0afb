import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { makeBlank } from './blank.ts';
import { OVER_ROOT } from './layout.ts';
import { currentPrivileges } from './privileges.ts';

const usable = await requirement('namespace');

let dir = '';
beforeEach(async () => (dir = await mkdtemp(join(tmpdir(), 'sublet-setup-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

describe.runIf(usable)('the set-up of a sandbox', () => {
  it.each([
    ['a limit is refused', 'false'],
    ['the number of user namespaces cannot be set', 'inner=none'],
  ])('ends before anything of the image runs when %s', async (_, limits) => {
    const table = join(dir, 'mounts');
    await writeFile(table, '');
    const { setup } = await makeBlank(currentPrivileges(), async () => undefined, 'unused');
    setup.lifeline.write(`${[table, OVER_ROOT, limits, '', 'once'].join('\n')}\n`);
    await expect(setup.ended).rejects.toMatchObject({
      code: 'CREATE_FAILED',
      message: expect.stringContaining('setting its limits failed') as string,
    });
  });
});
