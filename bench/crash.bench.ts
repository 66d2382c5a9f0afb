/** What a crash costs those who come after it, and what being safe from one costs everybody else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { open, type Sublet } from 'sublet';
import { openSqliteStore } from 'sublet/stores/sqlite';
import { withDeadOwner } from './dead-owner.ts';
import type { Figure, Result } from './figure.ts';
import { compare, distribution, time } from './measure.ts';
import { withDatabase } from './raw-sqlite.ts';
import type { Store } from './rows.ts';
import { withScratchHome, withSublet } from './scratch-home.ts';

const KILLS = 15;
const ROWS = 10_000;
const RECOVERIES = 3;
const RUNS = 200;
const POLL_MS = 2;

export async function measure(): Promise<readonly Result[]> {
  return [await killed(), await recovered(), await storesShare(), await underLease()];
}

/** Until its sandbox is destroyed and on record as that. */
async function killed(): Promise<Figure> {
  return withScratchHome(async (home) => {
    const store = await openSqliteStore({ path: path.join(home, 'sublet.db') });
    try {
      let owner: Owner | undefined;
      let shell: (() => Promise<void>) | undefined;
      const times = await compare({
        prepare: async () => {
          owner = await startOwner(home);
          shell = startShell();
        },
        ours: async () => owner?.die(store),
        raw: async () => shell?.(),
        rounds: KILLS,
      });
      return {
        name: 'SIGKILL, until its sandbox is destroyed',
        unit: 'ms',
        ...times,
        against: 'a shell sees a pipe end and becomes node -e 0',
        target: { of: 'median', atMost: 1_000 },
      };
    } finally {
      await store.close();
      const sublet = await open({ home, watchdog: false });
      await sublet.destroyAllSessions();
      await sublet.close();
    }
  });
}

interface Owner {
  /** Resolves when its sandbox is gone. */
  die(store: Store): Promise<void>;
}

async function startOwner(home: string): Promise<Owner> {
  const program = path.join(import.meta.dirname, 'killed-owner.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', program, home], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  const sandboxId = said.toString().trim();
  return {
    async die(store) {
      child.kill('SIGKILL');
      while ((await store.getSandbox(sandboxId))?.state !== 'destroyed') await delay(POLL_MS);
    },
  };
}

/** The least that a watchdog in another process takes: it hears of the death, and starts. The returned function is the death. */
function startShell(): () => Promise<void> {
  const shell = spawn('sh', ['-c', 'read nothing; exec "$0" -e 0', process.execPath], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(shell, 'exit');
  return async () => {
    shell.stdin.end();
    await ended;
  };
}

/** One reap of a process that finds them. */
async function recovered(): Promise<Figure> {
  const ours: number[] = [];
  const raw: number[] = [];
  for (let round = 0; round < RECOVERIES; round++) {
    ours.push(
      await withDeadOwner(ROWS, async ({ sublet, world }) => {
        const lists = world.calls.list;
        const ms = await time(() => sublet.reap());
        if (world.boxes.length > 0) throw new Error(`${world.boxes.length} sandboxes are left.`);
        const left = (await sublet.sandboxes.list()).length;
        if (left > 0) throw new Error(`${left} rows are left.`);
        // A list of what is left after the dead process's own rows, page by page, and none before it.
        if (world.calls.list - lists > ROWS / 100 + 1) throw new Error('The provider was listed more than once.');
        return ms;
      }),
    );
    raw.push(
      await withScratchHome((home) =>
        withDatabase(path.join(home, 'raw.db'), async (database) => {
          database.exec('pragma journal_mode = wal; pragma synchronous = normal');
          database.exec('create table moves (id integer primary key, state text not null, body text) strict');
          const insert = database.prepare("insert into moves (id, state, body) values (?, 'running', ?)");
          for (let id = 0; id < ROWS; id++) insert.run(id, 'x'.repeat(500));
          const update = database.prepare('update moves set state = ? where id = ?');
          return time(async () => {
            for (const state of ['destroying', 'destroyed']) for (let id = 0; id < ROWS; id++) update.run(state, id);
          });
        }),
      ),
    );
  }
  return {
    name: `recovery of ${ROWS.toLocaleString('en-US')} rows`,
    unit: 'ms',
    ours: distribution(ours),
    raw: distribution(raw),
    against: 'two updates of each, a transaction each',
    target: { of: 'median', atMost: 5_000 },
  };
}

/**
 * SQLite works while it is called: what it costs a run is the time in its calls. All of them are counted, reads too, so that
 * nothing that the intent, the moves, the owner or a lease need is left out.
 */
async function storesShare(): Promise<Figure> {
  return withScratchHome(async (home) => {
    const spent = { ms: 0 };
    const store = timed(await openSqliteStore({ path: path.join(home, 'sublet.db') }), spent);
    const sublet = await open({ home, env: { PATH: process.env['PATH'] }, store });
    const whole: number[] = [];
    const without: number[] = [];
    try {
      for (let round = -RUNS / 10; round < RUNS; round++) {
        spent.ms = 0;
        const ms = await time(() => sublet.run(['/bin/true']));
        if (round < 0) continue;
        whole.push(ms);
        without.push(ms - spent.ms);
      }
    } finally {
      await sublet.close();
    }
    return {
      name: 'create, run true, destroy, on record at each step',
      unit: 'ms',
      ours: distribution(whole),
      raw: distribution(without),
      against: 'the same less its time in the store',
      target: { of: 'ratio', atMost: 1.05 },
    };
  });
}

function timed<T extends object>(part: T, spent: { ms: number }): T {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (name === 'leases' || name === 'ledger') return timed(member as object, spent);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        const startedAt = performance.now();
        try {
          return Reflect.apply(member, target, given);
        } finally {
          spent.ms += performance.now() - startedAt;
        }
      };
    },
  });
}

async function underLease(): Promise<Figure> {
  return withSublet(async (sublet) => {
    const free = await session(sublet, 'free');
    const { sandboxId } = await session(sublet, 'held');
    const lease = await sublet.lease({ sandboxId });
    const times = await compare({
      ours: () => lease.commands.run(['/bin/true']),
      raw: () => free.commands.run(['/bin/true']),
      rounds: 5 * RUNS,
    });
    await lease.release();
    return {
      name: 'a command under a lease',
      unit: 'ms',
      ...times,
      against: 'a command in a session that nobody holds',
      target: { of: 'ratio', atMost: 1.05 },
    };
  });
}

function session(sublet: Sublet, task: string): ReturnType<Sublet['session']> {
  return sublet.session({ user: 'bench', task });
}
