/** What is true after every step, whatever was done and whatever went wrong. */
import assert from 'node:assert/strict';
import type { EventType, SubletEvent } from '../../src/core/events.ts';
import { isAtLeastAsTight } from '../../src/core/network.ts';
import { canMove, isLive, type SandboxState } from '../../src/core/states.ts';
import type { SandboxRecord } from '../../src/store/records.ts';
import type { FaultyBox } from '../../src/testing/index.ts';
import type { Model } from './model.ts';
import type { System } from './system.ts';

const STATE_AFTER: Readonly<Partial<Record<EventType, SandboxState>>> = {
  'sandbox.creating': 'creating',
  'sandbox.running': 'running',
  'sandbox.paused': 'paused',
  'sandbox.resumed': 'running',
  'sandbox.stopped': 'stopped',
  'sandbox.started': 'running',
  'sandbox.destroying': 'destroying',
  'sandbox.destroyed': 'destroyed',
  'sandbox.lost': 'lost',
};

const USABLE: readonly SandboxState[] = ['creating', 'running', 'paused', 'stopped'];
const RESTING: readonly SandboxState[] = ['running', 'paused', 'stopped'];

export async function checkInvariants({ store, world }: System, model: Model): Promise<void> {
  const rows = await store.findSandboxes({ limit: Infinity });
  nothingLeaked(world.boxes, rows);
  nothingClaimed(world.boxes, rows, model);
  oneSandboxForEachKey(rows);
  await networkOnlyTightens(world.boxes, store, model);
  eventsTellEveryMove(await store.listEvents({ limit: Infinity }), rows);
}

function nothingLeaked(boxes: readonly FaultyBox[], rows: readonly SandboxRecord[]): void {
  const live = new Set(rows.filter(({ state }) => isLive(state)).map(({ name }) => name));
  const leaked = boxes.filter(({ name }) => !live.has(name)).map(({ name }) => name);
  assert.deepEqual(leaked, [], 'leaked: the provider has what no live row names');
}

function nothingClaimed(boxes: readonly FaultyBox[], rows: readonly SandboxRecord[], model: Model): void {
  const present = new Map(boxes.map((box) => [box.name, box]));
  for (const { name, state } of rows.filter((row) => RESTING.includes(row.state))) {
    const box = present.get(name);
    if (box === undefined) assert.ok(model.lost.has(name), `${name} is ${state} on record, and nobody lost it`);
    else if (!model.hadFaults) assert.equal(box.state, state, `${name} is in another state than its row`);
  }
}

function oneSandboxForEachKey(rows: readonly SandboxRecord[]): void {
  const keys = rows.filter(({ state }) => USABLE.includes(state)).flatMap(({ sessionKey }) => sessionKey ?? []);
  assert.equal(new Set(keys).size, keys.length, `a key has two sandboxes: ${keys.join(', ')}`);
}

async function networkOnlyTightens(boxes: readonly FaultyBox[], store: System['store'], model: Model): Promise<void> {
  for (const { session, sandbox } of await store.listSessions()) {
    const floor = model.floorOf(session.key);
    assert.ok(isAtLeastAsTight(session.network, floor), `${session.key} was ${floor} and is ${session.network}`);
    // The first of the name: a second one is a cloud's mistake, that nobody was given.
    const { network } = boxes.find(({ name }) => name === sandbox.name) ?? session;
    assert.ok(isAtLeastAsTight(network, floor), `${session.key} was ${floor}, and its sandbox is ${network}`);
  }
}

function eventsTellEveryMove(events: readonly SubletEvent[], rows: readonly SandboxRecord[]): void {
  const told = new Map<string, SandboxState>();
  for (const { type, sandboxId, seq, cause } of events) {
    const to = STATE_AFTER[type];
    if (to === undefined || sandboxId === undefined) continue;
    const from = told.get(sandboxId);
    // Its processes had ended, and it was started again without anybody having stopped it.
    if (from === 'running' && type === 'sandbox.started') continue;
    if (from === undefined) assert.equal(to, 'creating', `event ${seq}: ${sandboxId} begins as ${to}`);
    else assert.ok(canMove(from, to), `event ${seq}: ${sandboxId} moved from ${from} to ${to} (${cause})`);
    assert.notEqual(cause, '', `event ${seq} says no cause`);
    told.set(sandboxId, to);
  }
  for (const { id, state } of rows)
    assert.equal(told.get(id), state, `the events do not tell how ${id} became ${state}`);
}
