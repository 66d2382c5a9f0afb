/** A command in a sandbox that lives. */
import type { Figure } from './figure.ts';
import { bareSpawn } from './bare-spawn.ts';
import { compare } from './measure.ts';
import { withSublet } from './scratch-home.ts';

const ROUNDS = 300;
const LINE = 'echo hi; echo there';

export async function measure(): Promise<readonly Figure[]> {
  return withSublet(async (sublet) => {
    const { commands } = await sublet.session({ user: 'bench', task: 'commands' });
    const words = await compare({
      ours: () => commands.run(['/bin/echo', 'hi']),
      raw: () => bareSpawn(['/bin/echo', 'hi']),
      rounds: ROUNDS,
    });
    const line = await compare({
      ours: () => commands.run(LINE),
      raw: () => bareSpawn(['/bin/sh', '-c', LINE]),
      rounds: ROUNDS,
    });
    const target = { of: 'ratio', atMost: 1.3 } as const;
    return [
      { name: 'a command in a live sandbox', unit: 'ms', ...words, against: 'a bare spawn of it', target },
      { name: 'a shell line in a live sandbox', unit: 'ms', ...line, against: 'a bare spawn of sh -c', target },
    ];
  });
}
