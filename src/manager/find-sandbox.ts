/** From what a user types to one sandbox: an id, any unique prefix of one, a session key or a bare task. */
import { SubletError } from '../core/errors.ts';
import { formatSessionKey, parseSessionKey } from '../core/session-key.ts';
import { isLive } from '../core/states.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';

const ID_PREFIX = 'sbx_';
const NAME_PREFIX = 'sublet-';
const MOST_CANDIDATES = 20;

/** SANDBOX_NOT_FOUND, or SANDBOX_AMBIGUOUS with the candidates. Living ones outrank destroyed ones. */
export async function findSandbox(store: Store, text: string): Promise<SandboxRecord> {
  const found = (await findBySession(store, text)) ?? (await findByPrefix(store, text));
  if (found !== undefined) return found;
  throw new SubletError('SANDBOX_NOT_FOUND', `No sandbox is called "${text}".`, {
    details: { asked: text },
    hint: 'See what there is with: sublet ls --all',
  });
}

async function findBySession(store: Store, text: string): Promise<SandboxRecord | undefined> {
  if (text.startsWith(ID_PREFIX) || text.startsWith(NAME_PREFIX)) return undefined;
  try {
    return (await store.getSession(formatSessionKey(parseSessionKey(text))))?.sandbox;
  } catch (cause) {
    if (SubletError.is(cause, 'USAGE')) return undefined;
    throw cause;
  }
}

async function findByPrefix(store: Store, text: string): Promise<SandboxRecord | undefined> {
  const idPrefix = toIdPrefix(text);
  if (idPrefix === ID_PREFIX && (text === '' || text === NAME_PREFIX)) return undefined;
  const matches = await store.findSandboxes({ idPrefix, limit: MOST_CANDIDATES });
  const living = matches.filter((match) => isLive(match.state));
  const candidates = living.length > 0 ? living : matches;
  const exact = candidates.find((match) => match.id === idPrefix);
  if (exact !== undefined || candidates.length <= 1) return exact ?? candidates[0];
  const ids = candidates.map((match) => match.id);
  throw new SubletError('SANDBOX_AMBIGUOUS', `"${text}" could be any of: ${ids.join(', ')}.`, {
    details: { candidates: ids },
    hint: 'Type more of the id.',
  });
}

function toIdPrefix(text: string): string {
  if (text.startsWith(ID_PREFIX)) return text;
  // What is before the bar of every id.
  if (`${text}_` === ID_PREFIX) return ID_PREFIX;
  return ID_PREFIX + (text.startsWith(NAME_PREFIX) ? text.slice(NAME_PREFIX.length) : text);
}
