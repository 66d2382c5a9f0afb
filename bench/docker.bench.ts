/** The docker provider against the raw Engine API over the same socket. */
import { readFile, writeFile } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { SandboxHandle, SandboxProvider } from 'sublet/provider';
import { bareSpawn } from './bare-spawn.ts';
import { openProvider, specFor } from './docker-provider.ts';
import type { Figure, Result } from './figure.ts';
import { compare, distribution, time } from './measure.ts';
import { benchEngine, type EngineTarget, RawEngine } from './raw-engine.ts';
import { withScratchHome } from './scratch-home.ts';

const ECHO = ['echo', 'hi'];
const LIFE_ROUNDS = 12;
const AT_ONCE = 50;
const FILE_BYTES = 100 * 1024 * 1024;
const signal = new AbortController().signal;

interface Bench {
  readonly target: EngineTarget;
  readonly provider: SandboxProvider;
  readonly raw: RawEngine;
}

export async function measure(): Promise<readonly Result[]> {
  const target = benchEngine();
  if (target === undefined) return [{ name: 'docker', reason: 'SUBLET_BENCH_DOCKER_HOST names no engine on a socket' }];
  const raw = new RawEngine(target);
  const provider = await openProvider(target);
  try {
    const bench = { target, provider, raw };
    return [
      ...(await lives(bench, false)),
      ...(await lives(bench, true)),
      await armedCommand(bench),
      await plainExec(bench),
      await manyAtOnce(bench),
      ...(await files(bench)),
    ];
  } finally {
    await provider.close();
    raw.close();
  }
}

async function lives({ target, provider, raw }: Bench, ephemeral: boolean): Promise<Figure[]> {
  const times = {
    create: [] as number[],
    rawCreate: [] as number[],
    destroy: [] as number[],
    rawDestroy: [] as number[],
  };
  const ours = async (round: number): Promise<void> => {
    const spec = specFor(target, { ephemeral });
    const created = await time(() => provider.create(spec, signal));
    const destroyed = await time(() => provider.destroy({ name: spec.name }, signal));
    if (round < 0) return;
    times.create.push(created);
    times.destroy.push(destroyed);
  };
  const theirs = async (round: number): Promise<void> => {
    const { name } = specFor(target);
    const created = await time(() => raw.createAndStart(name));
    const destroyed = await time(() => raw.remove(name));
    if (round < 0) return;
    times.rawCreate.push(created);
    times.rawDestroy.push(destroyed);
  };
  for (let round = -2; round < LIFE_ROUNDS; round++) {
    for (const turn of round % 2 === 0 ? [ours, theirs] : [theirs, ours]) await turn(round);
  }
  const kind = ephemeral ? ', ephemeral' : '';
  const target11 = { of: 'ratio', atMost: 1.1 } as const;
  const figure = (name: string, mine: readonly number[], bare: readonly number[], against: string): Figure => ({
    name: `docker: ${name}${kind}`,
    unit: 'ms',
    ours: distribution(mine),
    raw: distribution(bare),
    against,
    target: target11,
  });
  return [
    figure('create', times.create, times.rawCreate, 'create and start by the Engine API'),
    figure('destroy', times.destroy, times.rawDestroy, 'remove by the Engine API'),
  ];
}

async function armedCommand(bench: Bench): Promise<Figure> {
  return withContainers(bench, async (sandbox, name) => ({
    name: 'docker: a command',
    unit: 'ms',
    ...(await compare({ ours: () => sandbox.commands.run(ECHO), raw: () => bench.raw.exec(name, ECHO), rounds: 60 })),
    against: 'exec by the Engine API',
    target: { of: 'ratio', atMost: 0.2 },
  }));
}

async function plainExec(bench: Bench): Promise<Figure> {
  const provider = await openProvider(bench.target, { command: ['sleep', '1000'] });
  try {
    return await withContainers({ ...bench, provider }, async (sandbox, name) => ({
      name: 'docker: a command without a shell in the image',
      unit: 'ms',
      ...(await compare({ ours: () => sandbox.commands.run(ECHO), raw: () => bench.raw.exec(name, ECHO), rounds: 60 })),
      against: 'exec by the Engine API',
      target: { of: 'ratio', atMost: 1.1 },
    }));
  } finally {
    await provider.close();
  }
}

async function manyAtOnce({ target, provider, raw }: Bench): Promise<Figure> {
  const ours = async (): Promise<void> => {
    const { ref, commands } = await provider.create(specFor(target, { ephemeral: true }), signal);
    await commands.run(ECHO);
    await provider.destroy(ref, signal);
  };
  const theirs = async (): Promise<void> => {
    const { name } = specFor(target);
    await raw.createAndStart(name);
    await raw.exec(name, ECHO);
    await raw.remove(name);
  };
  const many = (work: () => Promise<void>) => () => Promise.all(Array.from({ length: AT_ONCE }, work));
  return {
    name: `docker: ${AT_ONCE} ephemeral runs at once`,
    unit: 'ms',
    ...(await compare({ ours: many(ours), raw: many(theirs), rounds: 3, warmUp: 1 })),
    against: 'create, start, exec, remove by the Engine API',
    target: { of: 'ratio', atMost: 1.15 },
  };
}

async function files(bench: Bench): Promise<Figure[]> {
  return withScratchHome((dir) =>
    withContainers(bench, async (sandbox, name) => {
      const docker = (from: string, to: string): Promise<string> =>
        bareSpawn(['docker', '--host', bench.target.host, 'cp', from, to]);
      const [source, ours, theirs] = ['source', 'ours', 'theirs'].map((each) => path.join(dir, each)) as [
        string,
        string,
        string,
      ];
      await writeFile(source, Buffer.alloc(FILE_BYTES, 'sublet'));
      const write = await compare({
        ours: async () => sandbox.files.write('file', await readFile(source)),
        raw: () => docker(source, `${name}:/tmp/file`),
        rounds: 8,
      });
      const read = await compare({
        ours: () => pipeline(sandbox.files.readStream('file'), createWriteStream(ours)),
        raw: () => docker(`${name}:/tmp/file`, theirs),
        rounds: 8,
      });
      const target = { of: 'ratio', atMost: 1.43 } as const;
      return [
        { name: 'docker: write 100 MiB', unit: 'ms', ...write, against: 'docker cp', target },
        { name: 'docker: read 100 MiB', unit: 'ms', ...read, against: 'docker cp', target },
      ] satisfies Figure[];
    }),
  );
}

/** One of ours and one made by hand. */
async function withContainers<T>(
  { target, provider, raw }: Bench,
  use: (sandbox: SandboxHandle, rawName: string) => Promise<T>,
): Promise<T> {
  const sandbox = await provider.create(specFor(target), signal);
  const { name } = specFor(target);
  await raw.createAndStart(name);
  try {
    return await use(sandbox, name);
  } finally {
    await provider.destroy(sandbox.ref, signal);
    await raw.remove(name);
  }
}
