import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../core/system-clock.ts';
import { Channel } from './channel.ts';
import { PipeStock } from './pipe-stock.ts';
import { ResidentShell } from './resident-shell.ts';

/** The last of the pipes that are asked for is gone when it is to be opened. */
class LossyStock extends PipeStock {
  override async place(paths: readonly string[]): Promise<void> {
    await super.place(paths);
    await unlink(paths.at(-1) ?? '');
  }
}

describe.runIf(process.platform === 'linux')('the pipes of a sandbox', () => {
  let directory: string;
  let channel: Channel;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-channel-'));
    await mkdir(join(directory, 'channel'));
    channel = new Channel(join(directory, 'channel'), 'some', new LossyStock(directory));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  /** Descriptors of this process that lead there. */
  const open = (): string[] =>
    readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        const target = readlinkSync(`/proc/self/fd/${fd}`);
        return target.startsWith(join(directory, 'channel')) ? [target] : [];
      } catch {
        return [];
      }
    });

  it('are open all or none: of a slot', async () => {
    await expect(channel.openSlot()).rejects.toMatchObject({ code: 'ENOENT' });
    expect(open()).toEqual([]);
  });

  it('are open all or none: of a resident shell, which is not started then', async () => {
    await channel.makeResident();
    let isStarted = false;
    const listen = async (): Promise<void> => void (isStarted = true);
    await expect(ResidentShell.open(channel, listen, systemClock)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(open()).toEqual([]);
    expect(isStarted).toBe(false);
  });
});
