/** What the SDK leaves out of a server's answers: the pages of a list after the first, and where a port is without going there. */
import type { Box } from './box-facts.ts';
import type { BoxlitePlace } from './boxlite-config.ts';
import { AnswerError } from './boxlite-errors.ts';

interface BoxDto {
  readonly box_id: string;
  readonly name?: string | null;
  readonly status: string;
  readonly created_at?: string;
  readonly auto_stop?: number;
}

interface Page {
  readonly boxes: readonly BoxDto[];
  readonly next_page_token?: string | null;
}

interface Told extends Partial<Page> {
  readonly uri?: string;
  readonly error?: { readonly message?: string };
}

type Server = Extract<BoxlitePlace, { readonly kind: 'server' }>;

const PAGE_SIZE = 1000;

export async function* listServerBoxes(place: Server, signal: AbortSignal): AsyncGenerator<Box> {
  let token: string | undefined;
  do {
    const page = await readPage(place, PAGE_SIZE, token, signal);
    for (const dto of page.boxes) yield toBox(dto);
    token = page.next_page_token ?? undefined;
  } while (token !== undefined && token !== '');
}

/** Rejects when what answers there is no BoxLite server that takes this key. */
export async function assertServer(place: Server, signal: AbortSignal): Promise<void> {
  await readPage(place, 1, undefined, signal);
}

/** Where the server serves a port of the box. */
export async function tunnelUri(place: Server, id: string, port: number, signal: AbortSignal): Promise<string> {
  const { uri } = await ask(place, 'POST', `boxes/${encodeURIComponent(id)}/network/tunnel?port=${port}`, signal);
  if (uri === undefined) throw new AnswerError(502, 'The answer names no address.', new Headers());
  return uri;
}

async function readPage(place: Server, size: number, token: string | undefined, signal: AbortSignal): Promise<Page> {
  const query = new URLSearchParams({ pageSize: String(size), ...(token === undefined ? {} : { pageToken: token }) });
  const { boxes, next_page_token: next } = await ask(place, 'GET', `boxes?${query.toString()}`, signal);
  if (boxes === undefined) throw new AnswerError(502, 'The answer has no list.', new Headers());
  return { boxes, next_page_token: next ?? null };
}

async function ask(
  { url, apiKey, prefix }: Server,
  method: 'GET' | 'POST',
  path: string,
  signal: AbortSignal,
): Promise<Told> {
  const root = prefix === undefined ? `${url}/v1` : `${url}/v1/${prefix}`;
  const headers = apiKey === undefined || apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
  const response = await fetch(`${root}/${path}`, { method, headers, signal });
  const text = await response.text();
  const told = parse(text);
  if (response.ok && told !== undefined) return told;
  const said = told?.error?.message ?? (text.slice(0, 300) || response.statusText);
  // A path that is not there and says so in other words is another server's: that tells nothing about boxes.
  const isOther = response.ok || (response.status === 404 && told?.error === undefined);
  throw new AnswerError(isOther ? 502 : response.status, said, response.headers);
}

function parse(text: string): Told | undefined {
  try {
    return JSON.parse(text) as Told;
  } catch {
    // A proxy in between answers in its own words.
    return undefined;
  }
}

function toBox({ box_id: id, name, status, created_at: created, auto_stop: autoStop = 0 }: BoxDto): Box {
  const at = Date.parse(created ?? '');
  return {
    id,
    name: name ?? undefined,
    status,
    createdAt: Number.isNaN(at) ? undefined : at,
    autoStop,
    outbound: undefined,
    ports: [],
  };
}
