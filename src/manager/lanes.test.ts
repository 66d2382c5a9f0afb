import { expect, it } from 'vitest';
import { ERROR_CODES, SubletError } from '../core/errors.ts';
import type { ErrorCode } from '../core/errors.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import type { SandboxRecord } from '../store/records.ts';
import { sandboxRow } from '../testing/store-contract/rows.ts';
import { Lanes, isProviderDown } from './lanes.ts';

const OPEN = new AbortController().signal;

it('does everything, eight at once in each lane', async () => {
  const records = [...(await rows(30, 'a')), ...(await rows(5, 'b'))];
  const done: SandboxRecord[] = [];
  let now = 0;
  let most = 0;
  await new Lanes(OPEN).pass().run(records, async (record) => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    done.push(record);
    return true;
  });
  expect(new Set(done)).toEqual(new Set(records));
  expect(most).toBe(13);
});

it('leaves the rest of a lane that does not answer, in this batch and the next of the pass, and no other', async () => {
  const [a, b] = [await rows(20, 'a'), await rows(20, 'b')];
  const pass = new Lanes(OPEN).pass();
  const tried: string[] = [];
  const work = async ({ provider }: SandboxRecord): Promise<boolean> => {
    tried.push(provider);
    return provider !== 'a';
  };
  await pass.run([...a, ...b], work);
  await pass.run([...a, ...b], work);
  expect(tried.filter((provider) => provider === 'a')).toHaveLength(8);
  expect(tried.filter((provider) => provider === 'b')).toHaveLength(40);
});

it('skips a lane in which an earlier pass hangs, and takes it up again when that is over', async () => {
  const [a, b] = [await rows(1, 'a'), await rows(1, 'b')];
  const lanes = new Lanes(OPEN);
  let free = (): void => {};
  const hanging = lanes.pass().run(a, () => new Promise((resolve) => (free = () => resolve(true))));
  const done: string[] = [];
  const work = async ({ provider }: SandboxRecord): Promise<boolean> => done.push(provider) > 0;
  await lanes.pass().run([...a, ...b], work);
  expect(done).toEqual(['b']);
  free();
  await hanging;
  await lanes.pass().run(a, work);
  expect(done).toEqual(['b', 'a']);
});

it('frees a lane whose work throws', async () => {
  const a = await rows(1, 'a');
  const lanes = new Lanes(OPEN);
  await expect(lanes.pass().run(a, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  let isDone = false;
  await lanes.pass().run(a, async () => (isDone = true));
  expect(isDone).toBe(true);
});

it('begins nothing more once it is to end', async () => {
  const ending = new AbortController();
  let tried = 0;
  await new Lanes(ending.signal).pass().run(await rows(30, 'a'), async () => {
    tried += 1;
    ending.abort();
    return true;
  });
  expect(tried).toBe(8);
});

it('takes for down a provider that is out of reach, not one that refuses a single sandbox', () => {
  const down = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => isProviderDown(new SubletError(code, 'x')));
  expect(down.toSorted()).toEqual(['AUTH_FAILED', 'PROVIDER_UNAVAILABLE', 'PROVIDER_UNUSABLE', 'RATE_LIMITED']);
  expect(isProviderDown(new Error('x'))).toBe(false);
});

function rows(count: number, provider: string): Promise<readonly SandboxRecord[]> {
  const store = createMemoryStore();
  return Promise.all(Array.from({ length: count }, () => store.insertSandbox(sandboxRow({ provider }))));
}
