/** Session keys: `kind:user:task`, with separators escaped in the parts so that two users never collide. */
import { SubletError } from './errors.ts';

export const SANDBOX_KINDS = ['execution', 'app', 'desktop'] as const;
export type SandboxKind = (typeof SANDBOX_KINDS)[number];

export type SessionKey = string;

export interface SessionKeyParts {
  readonly kind: SandboxKind;
  readonly user: string;
  readonly task: string;
}

export interface SessionKeyInput {
  readonly kind?: SandboxKind | undefined;
  readonly user?: string | undefined;
  readonly task?: string | undefined;
  /** Stands in for `task` when there is none. */
  readonly conversation?: string | undefined;
}

/** The key for what the caller gave. Task: explicit, else the conversation, else new. */
export function sessionKey(
  input: SessionKeyInput,
  newTask: () => string = () => globalThis.crypto.randomUUID(),
): SessionKey {
  return formatSessionKey({
    kind: input.kind ?? 'execution',
    user: input.user || 'anonymous',
    task: input.task || input.conversation || newTask(),
  });
}

/** USAGE when the kind is none: an unknown one could hold a separator. */
export function formatSessionKey(parts: SessionKeyParts): SessionKey {
  if (!isKind(parts.kind)) throw badKey(parts.kind);
  return `${parts.kind}:${escapePart(parts.user)}:${escapePart(parts.task)}`;
}

/** Takes a full key, `user:task`, or a bare task; missing parts get their defaults. */
export function parseSessionKey(text: string): SessionKeyParts {
  const pieces = text.split(':');
  if (pieces.length > 3 || text === '') throw badKey(text);
  const [task, user, kind] = pieces.toReversed();
  if (kind !== undefined && !isKind(kind)) throw badKey(text);
  return {
    kind: kind ?? 'execution',
    user: unescapePart(user ?? '') || 'anonymous',
    task: unescapePart(task ?? '') || 'default',
  };
}

function isKind(text: string): text is SandboxKind {
  return (SANDBOX_KINDS as readonly string[]).includes(text);
}

// Percent first, so that unescaping is exact. Control characters and lone surrogates have no faithful form in a
// terminal or in UTF-8, where different ones would become the same key.
function escapePart(part: string): string {
  return part.replaceAll('%', '%25').replaceAll(':', '%3A').replace(UNPRINTABLE, toCodeUnit);
}

function unescapePart(part: string): string {
  return part.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex.replace(/u/i, ''), 16)));
}

const UNPRINTABLE = /[\p{Cc}\p{Cs}]/gu;
const ESCAPE = /%(25|3a|u[0-9a-f]{4})/gi;

function toCodeUnit(character: string): string {
  return `%u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function badKey(text: string): SubletError {
  return new SubletError('USAGE', `"${text}" is not a session key.`, {
    hint: `A key is kind:user:task with kind one of ${SANDBOX_KINDS.join(', ')}; a bare task is enough.`,
  });
}
