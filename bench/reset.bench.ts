/** A used sandbox made as it was and shown to be, against a fresh one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { SandboxProvider, SandboxSpec } from 'sublet/provider';
import { provider as module } from 'sublet/providers/namespace';
import type { Result } from './figure.ts';
import { compare } from './measure.ts';
import { benchContext } from './provider-context.ts';

const ROUNDS = 60;
/** What a short use leaves: some files, and a process that does not end by itself. */
const USE = 'for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >file$i; done; setsid sleep 1000 >/dev/null 2>&1 &';

export async function measure(): Promise<readonly Result[]> {
  const stateDir = await mkdtemp(path.join(tmpdir(), 'sublet-bench-'));
  const provider = await module.open(benchContext(stateDir));
  try {
    const subject = { unit: 'ms', target: { of: 'ratio', atMost: 3 } } as const;
    const create = await againstCreate(provider, false);
    const replace = await againstCreate(provider, true);
    return [
      { ...subject, name: 'verified reset', ...create, against: 'a fresh create' },
      { ...subject, name: 'verified reset', ...replace, against: 'destroy, then a fresh create', target: undefined },
    ];
  } finally {
    await provider.close();
    await rm(stateDir, { recursive: true, force: true });
  }
}

/** `withDestroy` also counts what throwing the used one away takes. */
async function againstCreate(provider: SandboxProvider, withDestroy: boolean): ReturnType<typeof compare> {
  const signal = new AbortController().signal;
  const kept = specOf('kept');
  const fresh = specOf('fresh');
  await provider.create(kept, signal);
  const times = await compare({
    rounds: ROUNDS,
    prepare: async () => {
      await (await provider.attach(kept, signal))?.commands.run(USE);
      if (!withDestroy) await provider.destroy(fresh, signal);
      else await (await provider.create(fresh, signal)).commands.run(USE);
    },
    ours: async () => {
      const report = await provider.reset?.(kept, signal);
      if (report?.clean !== true) throw new Error(`not clean: ${report?.differences.join(', ')}`);
    },
    raw: async () => {
      if (withDestroy) await provider.destroy(fresh, signal);
      await provider.create(fresh, signal);
    },
  });
  for (const { name } of [kept, fresh]) await provider.destroy({ name }, signal);
  return times;
}

function specOf(name: string): SandboxSpec {
  return { name, labels: {}, kind: 'execution', network: 'none', ephemeral: false };
}
