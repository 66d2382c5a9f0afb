/** Creates of one name at a service that does not tell which of two was there first. */
import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { ManualClock, settle } from '../../testing/manual-clock.ts';
import { OneCreate } from './one-create.ts';
import type { SandboxService } from './sandbox-service.ts';

interface Box {
  readonly id: string;
  readonly isClaimed: boolean;
}

const SPEC = { name: 'a', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;

/** A service all of whose answers wait until `step` lets them be given, one at a time. */
class Service {
  readonly boxes = new Map<string, Box>();
  readonly #waiting: (() => void)[] = [];

  /** Makes one that will have that id. */
  creator(id: string, clock: ManualClock): Promise<Box> {
    const service: SandboxService<Box> = {
      title: 'Test',
      hasUniqueNames: false,
      claims: {
        isClaimed: (box) => box.isClaimed,
        claim: async (box) => {
          await this.#turn();
          this.boxes.set(box.id, { ...box, isClaimed: true });
        },
      },
      idOf: (box) => box.id,
      read: () => undefined,
      failure: () => undefined,
      create: async () => {
        await this.#turn();
        const box = { id, isClaimed: false };
        this.boxes.set(id, box);
        return box;
      },
      get: () => Promise.reject(new Error('nobody asks')),
      list: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('nobody asks')) }) }),
      wake: () => Promise.resolve(),
      remove: async (each) => {
        await this.#turn();
        if (!this.boxes.delete(each)) throw new SubletError('SANDBOX_NOT_FOUND', 'none');
        return 'gone';
      },
    };
    const named = async (): Promise<readonly Box[]> => {
      await this.#turn();
      return [...this.boxes.values()].map((box) => ({ ...box }));
    };
    const log = { debug() {}, info() {}, warn() {} };
    const creates = new OneCreate<Box>(service, { named, ready: (box) => Promise.resolve(box) }, { clock, log });
    return creates.make(SPEC, new AbortController().signal);
  }

  /** Lets one of those who wait go on. False when nobody waits. */
  async step(choose: (count: number) => number): Promise<boolean> {
    await settle();
    const [next] = this.#waiting.splice(choose(this.#waiting.length), 1);
    next?.();
    await settle();
    return next !== undefined;
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

describe('creates of one name at once, with claims', () => {
  it('end with one sandbox for all, in whatever order they take their steps', async () => {
    for (let seed = 1; seed <= 300; seed++) {
      const service = new Service();
      const clock = new ManualClock();
      let state = seed;
      const random = (count: number): number => {
        state = (state * 48_271) % 2_147_483_647;
        return count === 0 ? 0 : state % count;
      };
      const made = Promise.all(['x', 'y', 'z'].map((id) => service.creator(id, clock)));
      let isOver = false;
      const over = (): void => void (isOver = true);
      made.then(over, over);
      for (let steps = 0; !isOver && steps < 500; steps++) {
        if (!(await service.step(random))) await clock.advance(1_000);
      }
      const ids = new Set((await made).map(({ id }) => id));
      expect([seed, ids.size, [...service.boxes.keys()]]).toEqual([seed, 1, [...ids]]);
    }
  });

  it('do not wait for ever for one that was left behind', async () => {
    const service = new Service();
    const clock = new ManualClock();
    service.boxes.set('z', { id: 'z', isClaimed: false });
    const outcome = service.creator('x', clock).catch((error: unknown) => (error as SubletError).code);
    let code: unknown;
    void outcome.then((each) => (code = each));
    for (let steps = 0; code === undefined && steps < 500; steps++) {
      if (!(await service.step(() => 0))) await clock.advance(1_000);
    }
    expect([code, [...service.boxes.keys()]]).toEqual(['PROVIDER_UNAVAILABLE', ['z']]);
  });
});
