/** What the scripts print about a background command, understood. Pure. */
import type { CommandExit, CommandInfo, OutputChunk } from '../../../core/commands.ts';
import type { CommandId } from '../../../core/ids.ts';
import { commandExit } from '../command-record.ts';
import type { ProcessTag } from '../process-tree.ts';

export interface CommandMeta {
  readonly id: CommandId;
  readonly command: string;
  readonly startedAt: number;
  readonly pty: boolean;
  readonly stdin: boolean;
  readonly tag: ProcessTag;
}

export interface CommandFacts {
  readonly meta: CommandMeta;
  /** null: none was written. */
  readonly status: number | null;
  readonly killed: string | undefined;
  readonly isTimedOut: boolean;
  readonly runner: 'alive' | 'dead' | 'starting';
}

/** A piece of output, as one script reads it. */
export interface Segment extends OutputChunk {
  /** The data ends where a segment does: there is more behind it. */
  readonly hasMore: boolean;
}

export const FACT_FIELDS = 5;

/** A command without a runner yet is being started, for at most this long. */
const STARTING_MS = 10_000;

export function parseFacts(fields: readonly string[]): CommandFacts {
  const [meta = '{}', status = '', killed = '', timed = '', alive = ''] = fields;
  return {
    meta: JSON.parse(meta) as CommandMeta,
    status: status === '' ? null : Number(status),
    killed: killed === '' ? undefined : killed,
    isTimedOut: timed !== '',
    runner: alive === 'y' ? 'alive' : alive === 's' ? 'starting' : 'dead',
  };
}

/** undefined while it runs. */
export function toExit(facts: CommandFacts, now: number): CommandExit | undefined {
  const { status, killed, isTimedOut, runner, meta } = facts;
  const isStarting = runner === 'starting' && now - meta.startedAt < STARTING_MS;
  if (status === null && (runner === 'alive' || isStarting)) return undefined;
  return commandExit(status, killed, isTimedOut);
}

export function toInfo(facts: CommandFacts, now: number): CommandInfo {
  const exit = toExit(facts, now);
  const { id, command, startedAt, pty } = facts.meta;
  return { id, command, startedAt, pty, running: exit === undefined, exitCode: exit?.exitCode ?? null };
}

/** What `readScript` prints: the facts, the cursor of the data, that of the following segment, and the data. */
export function toSegment(output: Buffer, cursor: number, now: number): Segment {
  const fields: string[] = [];
  let at = 0;
  while (fields.length < FACT_FIELDS + 2) {
    const end = output.indexOf(0, at);
    fields.push(output.toString('utf8', at, end));
    at = end + 1;
  }
  const [from = '', following = ''] = fields.slice(FACT_FIELDS);
  const data = output.subarray(at);
  const isOver = toExit(parseFacts(fields), now) !== undefined;
  const hasMore = following !== '';
  return { data, next: Number(from) + data.length, lostBytes: Number(from) - cursor, end: isOver && !hasMore, hasMore };
}
