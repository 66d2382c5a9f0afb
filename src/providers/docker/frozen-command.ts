/** A background command of a paused container, read from its files through the engine. */
import type { OutputStream } from '../../core/commands.ts';
import type { CommandId } from '../../core/ids.ts';
import { untar } from '../../core/tar/untar.ts';
import { type CommandFacts, parseFacts, type Segment, toExit } from '../../provider/posix/inside/command-facts.ts';
import type { FrozenCommand } from '../../provider/posix/inside/inside-command.ts';
import type { DockerApi } from './docker-api.ts';

/** As the scripts name it. */
const COMMANDS_DIR = '/tmp/.sublet/commands';

class FilesOfCommand implements FrozenCommand {
  readonly facts: CommandFacts;
  readonly #files: ReadonlyMap<string, Buffer>;

  constructor(files: ReadonlyMap<string, Buffer>) {
    this.#files = files;
    const line = (name: string): string => files.get(name)?.toString('utf8').trim() ?? '';
    // What is frozen has not ended.
    const alive = files.has('runner') ? 'y' : 's';
    this.facts = parseFacts([
      line('meta.json'),
      line('exit'),
      line('killed'),
      files.has('timed-out') ? 'y' : '',
      alive,
    ]);
  }

  read(stream: OutputStream, cursor: number, maxBytes: number, now: number): Segment {
    const starts = [...this.#files.keys()]
      .flatMap((name) => new RegExp(`^${stream}\\.(\\d+)$`).exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
    const from = Math.max(cursor, starts[0] ?? 0);
    const start = starts.findLast((at) => at <= from) ?? 0;
    const hasMore = starts.some((at) => at > from);
    const data = (this.#files.get(`${stream}.${start}`) ?? Buffer.alloc(0)).subarray(
      from - start,
      from - start + maxBytes,
    );
    const end = toExit(this.facts, now) !== undefined && !hasMore;
    return { data, next: from + data.length, lostBytes: from - cursor, end, hasMore };
  }
}

export async function readFrozenCommand(api: DockerApi, containerId: string, id: CommandId): Promise<FrozenCommand> {
  const files = new Map<string, Buffer>();
  for await (const entry of untar(await api.getArchive(containerId, `${COMMANDS_DIR}/${id}`))) {
    if (entry.kind !== 'file') continue;
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry.body) chunks.push(Uint8Array.from(chunk));
    files.set(entry.name.replace(/^.*\//, ''), Buffer.concat(chunks));
  }
  return new FilesOfCommand(files);
}
