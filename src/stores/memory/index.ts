/** Public: the store that forgets, for tests. */
export type { MemoryStore } from './memory-store.ts';
export { createMemoryStore } from './memory-store.ts';
