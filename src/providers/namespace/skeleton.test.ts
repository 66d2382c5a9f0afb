import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { prepareSkeleton } from './skeleton.ts';

let dir = '';
beforeEach(async () => (dir = await mkdtemp(join(tmpdir(), 'sublet-skeleton-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

it('makes no mount point behind a link of the image, which would be on the host', async () => {
  const outside = await mkdtemp(join(dir, 'outside-'));
  const image = { id: 'linked', isHost: false, entries: [{ kind: 'link', name: 'data', target: outside }] } as const;
  await expect(prepareSkeleton(dir, image, [{ path: '/data/inner', isFile: false }])).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
  expect(await readdir(outside)).toEqual([]);
});

it('makes no mount point behind a link of its own either', async () => {
  const image = { id: 'plain', isHost: false, entries: [] } as const;
  const inner = `sublet-skeleton-${process.pid}`;
  const points = [{ path: `/var/tmp/${inner}`, isFile: false }];
  await expect(prepareSkeleton(dir, image, points)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  expect(await readdir('/tmp')).not.toContain(inner);
});
