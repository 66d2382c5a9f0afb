/** Sandboxes as the control plane tells of them. Pure. */
import { E2bRefusal } from './e2b-refusal.ts';
import type { ServedSandbox } from './served-sandbox.ts';

type Body = Readonly<Record<string, unknown>>;

/**
 * What is promised to clients: everything up to this version of the daemon is there. Metadata of files came later, and a
 * client that knows this refuses to ask for it.
 */
const ENVD_VERSION = '0.6.1';

export function toCreated({ facts }: ServedSandbox, domain: string | undefined): Body {
  return {
    sandboxID: facts.id,
    templateID: facts.templateId,
    alias: facts.templateId,
    clientID: 'sublet',
    envdVersion: ENVD_VERSION,
    envdAccessToken: facts.token,
    domain: domain ?? null,
  };
}

export function toListed({ facts, state, endAt }: ServedSandbox): Body {
  return {
    sandboxID: facts.id,
    templateID: facts.templateId,
    alias: facts.templateId,
    clientID: 'sublet',
    startedAt: new Date(facts.startedAt).toISOString(),
    endAt: new Date(endAt).toISOString(),
    state,
    metadata: facts.metadata,
    envdVersion: ENVD_VERSION,
    // A template says nothing of these here.
    cpuCount: 1,
    memoryMB: 512,
    diskSizeMB: 0,
  };
}

export function toDetail(sandbox: ServedSandbox, domain: string | undefined): Body {
  return {
    ...toListed(sandbox),
    envdAccessToken: sandbox.facts.token,
    domain: domain ?? null,
    allowInternetAccess: sandbox.allowInternetAccess,
    lifecycle: { onTimeout: sandbox.facts.onTimeout, autoResume: false },
    volumeMounts: [],
  };
}

/** Newest first. The token is the last id of the page before. */
export function listSandboxes(
  all: readonly ServedSandbox[],
  query: URLSearchParams,
  pageSize: number,
): { readonly bodies: readonly Body[]; readonly next: string | undefined } {
  const metadata = parseMetadata(query.get('metadata'));
  const states = query.get('state')?.split(',');
  const template = query.get('template');
  const after = query.get('startedAfter');
  const wanted = all
    .filter(
      ({ facts, state }) =>
        metadata.every(([key, value]) => facts.metadata[key] === value) &&
        (states === undefined || states.includes(state)) &&
        (template === null || facts.templateId === template) &&
        (after === null || facts.startedAt > Date.parse(after)),
    )
    .toSorted((a, b) => b.facts.startedAt - a.facts.startedAt || (a.facts.id < b.facts.id ? 1 : -1));
  if (query.get('order') === 'asc') wanted.reverse();
  const token = query.get('nextToken');
  const start = token === null ? 0 : wanted.findIndex(({ facts }) => facts.id === token) + 1;
  const page = wanted.slice(start, start + Math.min(limitOf(query.get('limit')), pageSize));
  const isLast = start + page.length >= wanted.length;
  return { bodies: page.map(toListed), next: isLast ? undefined : page.at(-1)?.facts.id };
}

function limitOf(text: string | null): number {
  if (text === null) return 100;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 100) return limit;
  throw new E2bRefusal(400, 'The limit must be a whole number from 1 to 100.');
}

/** Encoded once by itself, and then as a query in a query. */
function parseMetadata(text: string | null): readonly (readonly [string, string])[] {
  if (text === null) return [];
  try {
    return [...new URLSearchParams(text)].map(([key, value]) => [decodeURIComponent(key), decodeURIComponent(value)]);
  } catch {
    throw new E2bRefusal(400, 'The metadata filter is not encoded as it must be.');
  }
}
