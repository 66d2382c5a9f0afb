/** The fixtures as plain JavaScript: hundreds of processes start faster without a compiler in each. */
import path from 'node:path';
import { rolldown } from 'rolldown';

export interface Fixtures {
  readonly victim: string;
  readonly neighbour: string;
  readonly failpoint: string;
}

export async function compileFixtures(directory: string): Promise<Fixtures> {
  const source = (name: string): string => path.join(import.meta.dirname, `${name}.fixture.ts`);
  const compiled = (name: string): string => path.join(directory, `${name}.mjs`);
  for (const name of ['victim', 'neighbour', 'failpoint']) {
    const bundle = await rolldown({ input: source(name), platform: 'node', external: /^node:/ });
    await bundle.write({ file: compiled(name), format: 'esm' });
    await bundle.close();
  }
  return { victim: compiled('victim'), neighbour: compiled('neighbour'), failpoint: compiled('failpoint') };
}
