/** Session keys: `kind:user:task`, with separators escaped in the parts so that two users never collide. */
import { SubletError } from './errors.ts';

export const SANDBOX_KINDS = ['execution', 'app', 'desktop'] as const;
export type SandboxKind = (typeof SANDBOX_KINDS)[number];

export type SessionKey = string;

/** One of several sandboxes of a session. */
export interface SetMember {
  readonly runtime: string;
  readonly slot: number;
}

export interface SessionKeyParts {
  readonly kind: SandboxKind;
  readonly user: string;
  readonly task: string;
  readonly member?: SetMember | undefined;
}

export interface SessionKeyInput {
  readonly kind?: SandboxKind | undefined;
  readonly user?: string | undefined;
  readonly task?: string | undefined;
  /** Stands in for `task` when there is none. */
  readonly conversation?: string | undefined;
  /** Which one, where the session has a set of them: see `Sublet.sandboxSet`. */
  readonly member?: SetMember | undefined;
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
    member: input.member,
  });
}

/** USAGE when the kind is none: an unknown one could hold a separator. */
export function formatSessionKey(parts: SessionKeyParts): SessionKey {
  if (!isKind(parts.kind)) throw badKey(parts.kind);
  const key = `${parts.kind}:${escapePart(parts.user)}:${escapePart(parts.task)}`;
  const { member } = parts;
  return member === undefined ? key : `${key}${MEMBER}${escapePart(member.runtime)}${MEMBER}${member.slot}`;
}

/** The key of the session that a member is of; its own for any other. */
export function familyKey(key: SessionKey): SessionKey {
  return formatSessionKey({ ...parseSessionKey(key), member: undefined });
}

/** The keys of a session's members lie from the first of these up to the second. */
export function memberRange(family: SessionKey): readonly [from: SessionKey, below: SessionKey] {
  return [`${family}${MEMBER}`, `${family}${AFTER_MEMBER}`];
}

/** Takes a full key, `user:task`, or a bare task; missing parts get their defaults. */
export function parseSessionKey(text: string): SessionKeyParts {
  const pieces = text.split(':');
  if (pieces.length > 3 || text === '') throw badKey(text);
  const [last, user, kind] = pieces.toReversed();
  const [, task = last, runtime, slot] = MEMBER_KEY.exec(last ?? '') ?? [];
  if (kind !== undefined && !isKind(kind)) throw badKey(text);
  return {
    kind: kind ?? 'execution',
    user: unescapePart(user ?? '') || 'anonymous',
    task: unescapePart(task ?? '') || 'default',
    ...(runtime === undefined ? {} : { member: { runtime: unescapePart(runtime), slot: Number(slot) } }),
  };
}

function isKind(text: string): text is SandboxKind {
  return (SANDBOX_KINDS as readonly string[]).includes(text);
}

// No part can have it: a percent sign in one is escaped.
const MEMBER = '%/';
const AFTER_MEMBER = '%0';
const MEMBER_KEY = /^(.*?)%\/(.*)%\/(\d+)$/su;

// Percent first, so that unescaping is exact. Control characters and lone surrogates have no faithful form in a
// terminal or in UTF-8, where different ones would become the same key.
function escapePart(part: string): string {
  // Written here, because V8 looks its classes up when it first meets it: not every process has a key.
  return part
    .replaceAll('%', '%25')
    .replaceAll(':', '%3A')
    .replace(/[\p{Cc}\p{Cs}]/gu, toCodeUnit);
}

function unescapePart(part: string): string {
  return part.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex.replace(/u/i, ''), 16)));
}

const ESCAPE = /%(25|3a|u[0-9a-f]{4})/gi;

function toCodeUnit(character: string): string {
  return `%u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function badKey(text: string): SubletError {
  return new SubletError('USAGE', `"${text}" is not a session key.`, {
    hint: `A key is kind:user:task with kind one of ${SANDBOX_KINDS.join(', ')}; a bare task is enough.`,
  });
}
