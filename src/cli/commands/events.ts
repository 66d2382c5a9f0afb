/** `sublet events`: what happened, oldest first. */
import { setTimeout as delay } from 'node:timers/promises';
import type { EventFilter, SubletEvent } from '../../core/events.ts';
import { defineCommand, type CommandContext } from '../command.ts';
import { parseCount } from '../parse/quantities.ts';
import { renderEvent } from '../render/event.ts';
import { toJsonLines } from '../render/json-lines.ts';

const POLL_MS = 500;

export const command = defineCommand({
  summary: 'show what happened, oldest first',
  arguments: [{ name: 'ID', optional: true, isSandbox: true }],
  options: {
    follow: { type: 'boolean', short: 'f', help: 'wait for more until interrupted' },
    after: { type: 'string', value: 'SEQ', help: 'only events after this number' },
    limit: { type: 'string', value: 'N', help: 'only the newest N (default 100)' },
    json: { type: 'boolean', help: 'print one JSON object a line' },
  },
  examples: [
    ['sublet events', 'the last hundred'],
    ['sublet events sbx_7k --json', 'the whole story of one sandbox'],
    ['sublet events --follow', 'as it happens'],
  ],
  async run({ options, arguments: [id] }, context) {
    const sublet = await context.sublet();
    const sandboxId = id === undefined ? undefined : (await sublet.sandboxes.get(id)).id;
    const limit = options.limit === undefined ? 100 : parseCount(options.limit, '--limit');
    const after = options.after === undefined ? undefined : parseCount(options.after, '--after');
    const newest = (await sublet.events({ sandboxId, after, limit, descending: true })).toReversed();
    await print(newest, options.json, context);
    if (options.follow) {
      const next = (filter: EventFilter): Promise<readonly SubletEvent[]> => sublet.events({ sandboxId, ...filter });
      await follow(
        newest.at(-1)?.seq ?? after ?? 0,
        next,
        (events) => print(events, options.json, context),
        context.signal,
      );
    }
    return 0;
  },
});

// Other processes write events too, so the store is asked; being interrupted is how this ends.
async function follow(
  from: number,
  next: (filter: EventFilter) => Promise<readonly SubletEvent[]>,
  show: (events: readonly SubletEvent[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let after = from;
  while (!signal.aborted) {
    const events = await next({ after });
    await show(events);
    after = events.at(-1)?.seq ?? after;
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function print(events: readonly SubletEvent[], json: boolean, { terminal }: CommandContext): Promise<void> {
  await terminal.write('stdout', json ? toJsonLines(events) : events.map((event) => renderEvent(event, true)).join(''));
}
