import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { dockerHost, dockerImage, requirement } from '../setup/requirements.ts';

const PROGRAM = path.join(import.meta.dirname, 'big-files.fixture.ts');
const LIMIT_MIB = 64;

describe.runIf(await requirement('docker'))('1 GiB', () => {
  it('goes into a container and out again within 64 MiB of memory', { timeout: 300_000 }, async () => {
    const child = fork(PROGRAM, [dockerHost() ?? '', dockerImage()], { execArgv: ['--import', 'tsx'] });
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`it ended with ${code}`)));
    const [report] = (await Promise.race([once(child, 'message'), ended])) as [Record<string, number>];
    ended.catch(() => undefined);
    expect(report['seen']).toBe(2 ** 30);
    expect(report['inMib']).toBeLessThan(LIMIT_MIB);
    expect(report['outMib']).toBeLessThan(LIMIT_MIB);
    await ended.catch(() => undefined);
  });
});
