import { expect, it } from 'vitest';
import { writePrivateFile } from './private-file.ts';

it.runIf(process.platform === 'linux')('says what this user may not write, and where to look', async () => {
  await expect(writePrivateFile('/sys/no-such-file', '')).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: '/sys/no-such-file cannot be written by this user.',
    hint: expect.stringContaining('ls -ld /sys;'),
  });
});
