/** The fixtures as plain JavaScript: hundreds of processes start faster without a compiler in each. */
import path from 'node:path';
import { rolldown } from 'rolldown';

export interface Fixtures {
  readonly victim: string;
  readonly neighbour: string;
  readonly failpoint: string;
}

export async function compileFixtures(directory: string): Promise<Fixtures> {
  const compile = (name: string): Promise<string> =>
    compileFixture(path.join(import.meta.dirname, `${name}.fixture.ts`), directory);
  return {
    victim: await compile('victim'),
    neighbour: await compile('neighbour'),
    failpoint: await compile('failpoint'),
  };
}

/** One of them; returns where it is. */
export async function compileFixture(source: string, directory: string): Promise<string> {
  const file = path.join(directory, `${path.basename(source, '.fixture.ts')}.mjs`);
  const bundle = await rolldown({ input: source, platform: 'node', external: /^node:/ });
  await bundle.write({ file, format: 'esm' });
  await bundle.close();
  return file;
}
