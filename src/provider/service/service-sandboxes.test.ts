import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { ListedSandbox, ProviderState, SandboxSpec } from '../provider.ts';
import { ManualClock, settle } from '../../testing/manual-clock.ts';
import type { SandboxService, WantedSandboxes } from './sandbox-service.ts';
import { ServiceSandboxes } from './service-sandboxes.ts';

interface Box {
  readonly id: string;
  readonly name: string;
  readonly at: number;
  state: ProviderState;
  isFailed?: boolean;
}

/** A service in memory, whose answers can be held, lost and refused. */
class Service implements SandboxService<Box> {
  readonly title = 'Test';
  readonly hasUniqueNames: boolean;
  readonly boxes = new Map<string, Box>();
  readonly removed: string[] = [];
  created = 0;
  /** Runs when a create has been done and before it is answered. */
  answering: () => void | Promise<void> = () => undefined;
  removal: 'gone' | 'begun' = 'gone';
  firstState: ProviderState = 'running';

  constructor(hasUniqueNames: boolean) {
    this.hasUniqueNames = hasUniqueNames;
  }

  add(name: string, state: ProviderState = 'running'): Box {
    const box = { id: `id-${this.created}`, name, at: this.created++, state };
    this.boxes.set(box.id, box);
    return box;
  }

  idOf({ id }: Box): string {
    return id;
  }

  read({ id, name, state, at }: Box): ListedSandbox | undefined {
    return { ref: { name, providerId: id }, labels: {}, state, createdAt: at };
  }

  failure({ isFailed }: Box): SubletError | undefined {
    return isFailed === true ? new SubletError('CREATE_FAILED', 'it failed') : undefined;
  }

  async create({ name }: SandboxSpec): Promise<Box> {
    const isTaken = [...this.boxes.values()].some((box) => box.name === name);
    if (this.hasUniqueNames && isTaken) throw new SubletError('STATE_CONFLICT', 'taken');
    const box = this.add(name, this.firstState);
    await this.answering();
    return box;
  }

  async get(idOrName: string): Promise<Box> {
    const found = [...this.boxes.values()].find(({ id, name }) => id === idOrName || name === idOrName);
    if (found === undefined) throw new SubletError('SANDBOX_NOT_FOUND', 'none');
    return found;
  }

  async *list({ name }: WantedSandboxes): AsyncGenerator<Box> {
    for (const box of [...this.boxes.values()].toReversed()) if (name === undefined || box.name === name) yield box;
  }

  async wake(id: string): Promise<void> {
    (await this.get(id)).state = 'running';
  }

  async remove(id: string): Promise<'gone' | 'begun'> {
    this.removed.push(id);
    if (this.removal === 'gone' && !this.boxes.delete(id)) throw new SubletError('SANDBOX_NOT_FOUND', 'none');
    return this.removal;
  }
}

function sandboxesOf(service: Service, clock = systemClock): ServiceSandboxes<Box> {
  const log = { debug() {}, info() {}, warn() {} };
  return new ServiceSandboxes(service, { stateDir: '', clock, log, options: {}, secret: () => undefined });
}

const spec = { name: 'a', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
const lost = (): never => {
  throw new SubletError('PROVIDER_UNAVAILABLE', 'the connection broke');
};

describe.each([true, false])('sandboxes of a service (unique names: %s)', (hasUniqueNames) => {
  it('are not asked for again when the answer is lost', async ({ signal }) => {
    const service = new Service(hasUniqueNames);
    service.answering = lost;
    const box = await sandboxesOf(service).create(spec, signal);
    expect([box.id, service.created]).toEqual(['id-0', 1]);
  });

  it('are one for all who ask at once', async ({ signal }) => {
    const service = new Service(hasUniqueNames);
    const sandboxes = [sandboxesOf(service), sandboxesOf(service)] as const;
    const made = await Promise.all([0, 1, 0, 1].map((which) => sandboxes[which as 0 | 1].create(spec, signal)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(service.boxes.size).toBe(1);
  });

  it('are woken when one of the name rests', async ({ signal }) => {
    const service = new Service(hasUniqueNames);
    const { id } = service.add('a', 'stopped');
    expect(await sandboxesOf(service).create(spec, signal)).toMatchObject({ id, state: 'running' });
  });

  it('are removed again when the caller gave up, and destroy waits for that', async ({ signal }) => {
    const service = new Service(hasUniqueNames);
    let answer = (): void => undefined;
    service.answering = () => new Promise((resolve) => (answer = resolve));
    const sandboxes = sandboxesOf(service);
    const giveUp = new AbortController();
    const creating = sandboxes.create(spec, giveUp.signal);
    giveUp.abort();
    await expect(creating).rejects.toMatchObject({ code: 'ABORTED' });
    const destroying = sandboxes.destroy({ name: 'a' }, signal);
    await settle();
    expect(service.removed).toEqual([]);
    answer();
    await destroying;
    expect(service.boxes.size).toBe(0);
  });

  it('are removed again when they fail, and the failure is told', async ({ signal }) => {
    const service = new Service(hasUniqueNames);
    service.firstState = 'unknown';
    service.answering = () => {
      for (const box of service.boxes.values()) box.isFailed = true;
    };
    await expect(sandboxesOf(service).create(spec, signal)).rejects.toMatchObject({ code: 'CREATE_FAILED' });
    expect(service.boxes.size).toBe(0);
  });

  it('are moved by whoever comes first, and the others are content', async ({ signal }) => {
    const service = new Service(hasUniqueNames);
    const box = service.add('a');
    const elsewhere = (): Promise<void> => {
      box.state = 'stopped';
      return Promise.reject(new SubletError('STATE_CONFLICT', 'already stopping'));
    };
    const sandboxes = sandboxesOf(service);
    await sandboxes.move({ name: 'a' }, 'stopped', elsewhere, signal);
    await sandboxes.move({ name: 'a' }, 'stopped', () => expect.unreachable('it is so'), signal);
    await expect(sandboxes.wake({ name: 'b' }, signal)).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  });

  it('whose removal never ends are said to be stuck', async ({ signal }) => {
    const service = new Service(hasUniqueNames);
    service.removal = 'begun';
    service.add('a');
    const clock = new ManualClock();
    const destroying = sandboxesOf(service, clock).destroy({ name: 'a' }, signal);
    const outcome = destroying.then(
      () => 'gone',
      (error: unknown) => (error as SubletError).code,
    );
    await clock.advance(130_000);
    expect(await outcome).toBe('PROVIDER_UNAVAILABLE');
  });
});

describe('sandboxes of a service without names', () => {
  it('that have one name are removed together', async ({ signal }) => {
    const service = new Service(false);
    service.add('a');
    service.add('b');
    service.add('a');
    await sandboxesOf(service).destroy({ name: 'a' }, signal);
    expect([...service.boxes.values()].map(({ name }) => name)).toEqual(['b']);
  });

  it('are the oldest of their name', async ({ signal }) => {
    const service = new Service(false);
    const { id } = service.add('a');
    service.add('a');
    expect((await sandboxesOf(service).find({ name: 'a' }, signal))?.id).toBe(id);
  });
});
