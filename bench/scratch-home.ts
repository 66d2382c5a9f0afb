/** A home of a measurement's own, removed with everything in it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { open, type OpenOptions, type Sublet } from 'sublet';

/** The engine as a library user opens it: SQLite, best provider found. What `use` leaves is destroyed. */
export async function withSublet<T>(use: (sublet: Sublet) => Promise<T>, options: OpenOptions = {}): Promise<T> {
  return withScratchHome(async (home) => {
    const sublet = await open({ home, env: { PATH: process.env['PATH'] }, ...options });
    try {
      return await use(sublet);
    } finally {
      await sublet.destroyAllSessions();
      await sublet.close();
    }
  });
}

export async function withScratchHome<T>(use: (home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(path.join(tmpdir(), 'sublet-bench-'));
  try {
    return await use(home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
