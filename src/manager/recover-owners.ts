/** Sees to what dead processes left: ephemeral sandboxes are destroyed, sessions follow their policy and stay adoptable. */
import type { ReapVerdict } from '../core/api.ts';
import { LIVE_STATES } from '../core/states.ts';
import type { OwnerRecord, SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';
import type { LanePass } from './lanes.ts';
import { sandboxPages } from './sandbox-pages.ts';
import { judgeSandbox, settleSandbox, toReapVerdict } from './settle-sandbox.ts';

export interface RecoverOptions {
  readonly lanes: LanePass;
  readonly dryRun: boolean;
}

const PAGE = 200;
/** What is left over is done by the next pass. What is only kept costs a look and is not counted. */
const MOST_ACTS = 5_000;

/**
 * An owner's record goes last, and only if everything of it was seen to: whoever dies on the way leaves the rest to be
 * found again. Several processes may do this at once; for each sandbox one of them wins.
 */
export async function recoverOwner(
  engine: Engine,
  owner: OwnerRecord,
  { lanes, dryRun }: RecoverOptions,
): Promise<readonly ReapVerdict[]> {
  const verdicts: ReapVerdict[] = [];
  let acts = 0;
  for await (const page of pagesOf(engine, owner)) {
    const settled = await settlePage(engine, page, lanes, dryRun);
    verdicts.push(...settled);
    acts += settled.filter(({ action }) => action !== 'keep').length;
    if (acts >= MOST_ACTS || engine.closing.aborted) return verdicts;
  }
  if (dryRun || !(await isSeenTo(engine, owner))) return verdicts;
  await forget(engine, owner);
  // Somebody who left meanwhile may have handed a sandbox over to it; who would do so now sees that it is not on record.
  const told = new Set(verdicts.map(({ name }) => name));
  for await (const page of pagesOf(engine, owner)) {
    const settled = await settlePage(engine, page, lanes, false);
    verdicts.push(...settled.filter(({ name }) => !told.has(name)));
  }
  return verdicts;
}

function pagesOf(engine: Engine, { id }: OwnerRecord): AsyncIterable<readonly SandboxRecord[]> {
  return sandboxPages(engine.ports.store, { ownerId: id, states: LIVE_STATES }, PAGE);
}

async function settlePage(
  engine: Engine,
  page: readonly SandboxRecord[],
  lanes: LanePass,
  dryRun: boolean,
): Promise<readonly ReapVerdict[]> {
  const verdicts: ReapVerdict[] = [];
  await lanes.run(page, async (record) => {
    const verdict = await judgeSandbox(engine, record, 'dead');
    if (dryRun) {
      verdicts.push(toReapVerdict(record, verdict));
      return true;
    }
    const settled = await settleSandbox(engine, record, verdict);
    verdicts.push(settled.verdict);
    return settled.isAnswered;
  });
  return verdicts;
}

// Asked anew: what failed or was left for later is only in the rows. What cannot be seen to from here keeps its owner on
// record.
async function isSeenTo(engine: Engine, owner: OwnerRecord): Promise<boolean> {
  for await (const page of pagesOf(engine, owner)) {
    const verdicts = await Promise.all(page.map((record) => judgeSandbox(engine, record, 'dead')));
    if (verdicts.some(({ action, isOutOfReach }) => action !== 'keep' || isOutOfReach === true)) return false;
  }
  return true;
}

async function forget(engine: Engine, owner: OwnerRecord): Promise<void> {
  const { store } = engine.ports;
  if (!(await store.removeOwner(owner.id, owner.heartbeatAt))) return;
  const { pid, hostName } = owner;
  await store.appendEvents([
    {
      at: engine.now(),
      type: 'owner.died',
      ownerId: owner.id,
      cause: `process ${pid} on ${hostName} ended without leaving`,
      details: { recoveredBy: engine.ownerId },
    },
  ]);
}
