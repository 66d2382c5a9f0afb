/**
 * Real crashes: `npm run crash -- --kills 200 [--seed N] [--provider ID] [--at-once N] [--open-network] [--user] [--json]`.
 * The record is in the home, or where SUBLET_STORE says.
 * It starts itself again in a PID namespace, where every process that is left is one of its own, and where none outlives
 * it. `--user` gives up root's rights first.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { ordinaryUser } from '../setup/requirements.ts';
import { crash, type CrashReport } from './crash.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    seed: { type: 'string' },
    provider: { type: 'string', default: 'namespace' },
    'at-once': { type: 'string', default: '4' },
    'open-network': { type: 'boolean', default: false },
    user: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    contained: { type: 'boolean', default: false },
  },
});

// The compiler of the fixtures keeps threads that would keep this process.
process.exit(values.contained ? await run() : await contain());

async function run(): Promise<number> {
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  process.stderr.write(`seed ${seed}\n`);
  const report = await crash({
    kills: Number(values.kills),
    seed,
    provider: values.provider,
    store: process.env['SUBLET_STORE'],
    atOnce: Number(values['at-once']),
    network: values['open-network'] ? ['none', 'open'] : ['none'],
  });
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : toText(report));
  return report.faults.length === 0 ? 0 : 1;
}

/** The shell stays to collect orphans, which Node would leave as they are. */
async function contain(): Promise<number> {
  const prefix = values.user ? ordinaryUser().prefix : [];
  const isRoot = process.getuid?.() === 0 && !values.user;
  const unshare = [
    'unshare',
    ...(isRoot ? [] : ['--user', '--map-current-user']),
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
  ];
  const node = [process.execPath, '--import', 'tsx', import.meta.filename, ...process.argv.slice(2), '--contained'];
  const [program = '', ...args] = [...prefix, ...unshare, '--', 'sh', '-c', '"$@"; exit $?', 'sh', ...node];
  const child = spawn(program, args, { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

function toText({ faults, ways, ...numbers }: CrashReport): string {
  const lines = [...Object.entries(numbers), ...Object.entries(ways)].map(
    ([name, value]) => `${name.padEnd(36)} ${Math.round(value)}`,
  );
  return `${[...lines, `faults ${faults.length}`, ...faults].join('\n')}\n`;
}
