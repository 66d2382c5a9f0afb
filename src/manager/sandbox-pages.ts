/** Passes over many rows, page by page, in the order of ids: what is left as it was does not stand in the way of what comes after. */
import type { SandboxRecord } from '../store/records.ts';
import type { SandboxQuery, Store } from '../store/store.ts';

export async function* sandboxPages(
  store: Store,
  query: Omit<SandboxQuery, 'afterId' | 'limit'>,
  limit: number,
): AsyncIterable<readonly SandboxRecord[]> {
  for (let afterId = ''; ;) {
    const page = await store.findSandboxes({ ...query, afterId, limit });
    yield page;
    afterId = page.at(-1)?.id ?? afterId;
    if (page.length < limit) return;
  }
}
