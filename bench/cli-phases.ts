/** Where the time of a cold start goes: the built engine in fresh processes, a stamp after each phase. */
import path from 'node:path';
import { bareSpawn } from './bare-spawn.ts';
import { distribution } from './measure.ts';
import { withScratchHome } from './scratch-home.ts';

const ROUNDS = 15;
const ENGINE = path.resolve(import.meta.dirname, '../dist/open.js');

// Plain JavaScript in a plain Node: a loader of TypeScript would be most of what is measured.
const SCRIPT = `
const cpu = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
const stamps = [['start Node', performance.now(), cpu()]];
const stamp = (phase) => stamps.push([phase, performance.now(), cpu()]);
const { open } = await import(${JSON.stringify(ENGINE)});
stamp('load the engine');
const sublet = await open({ handleSignals: false });
stamp('open it');
await sublet.ephemeral({}, async ({ commands }) => {
  stamp('create');
  await commands.run(['true']);
  stamp('run');
});
stamp('destroy');
await sublet.close();
stamp('close');
console.log(JSON.stringify(stamps));
process.exit(0);
`;

type Stamp = readonly [phase: string, ms: number, cpuMs: number];

await withScratchHome(async (home) => {
  const env = { PATH: process.env['PATH'], SUBLET_HOME: home };
  const runs: (readonly Stamp[])[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    const output = await bareSpawn([process.execPath, '--input-type=module', '--eval', SCRIPT], env);
    if (round >= 0) runs.push(JSON.parse(output) as readonly Stamp[]);
  }
  console.log(`${'phase'.padEnd(18)}${'median ms'.padStart(10)}${'min ms'.padStart(10)}${'cpu ms'.padStart(10)}`);
  for (const [index, [phase]] of (runs[0] ?? []).entries()) {
    const wall = distribution(runs.map((stamps) => since(stamps, index, 1)));
    const cpu = distribution(runs.map((stamps) => since(stamps, index, 2)));
    const cells = [wall.median, wall.min, cpu.median].map((value) => value.toFixed(1).padStart(10));
    console.log(`${phase.padEnd(18)}${cells.join('')}`);
  }
});

function since(stamps: readonly Stamp[], index: number, field: 1 | 2): number {
  return (stamps[index]?.[field] ?? 0) - (stamps[index - 1]?.[field] ?? 0);
}
