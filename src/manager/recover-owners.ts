/** Sees to what dead processes left: ephemeral sandboxes are destroyed, sessions follow their policy and stay adoptable. */
import type { ReapVerdict } from '../core/api.ts';
import { LIVE_STATES } from '../core/states.ts';
import type { OwnerRecord, SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';
import type { LanePass } from './lanes.ts';
import { judgeSandbox, settleSandbox, toReapVerdict } from './settle-sandbox.ts';

export interface RecoverOptions {
  readonly lanes: LanePass;
  readonly dryRun: boolean;
}

const PAGE = 200;
/** What is left over is done by the next pass. */
const MOST_ROWS = 5_000;

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
  let after = '';
  for (let rows = 0; rows < MOST_ROWS;) {
    const page = await engine.ports.store.findSandboxes({
      ownerId: owner.id,
      states: LIVE_STATES,
      afterId: after,
      limit: PAGE,
    });
    const settled = await settlePage(engine, page, lanes, dryRun);
    verdicts.push(...settled);
    rows += page.length;
    after = page.at(-1)?.id ?? after;
    if (page.length < PAGE) {
      if (!dryRun) await forgetIfDone(engine, owner);
      return verdicts;
    }
  }
  return verdicts;
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

// Asked anew: what failed or was left for later is only in the rows. What another machine has to see to keeps its owner
// on record for it.
async function forgetIfDone(engine: Engine, owner: OwnerRecord): Promise<void> {
  const { store } = engine.ports;
  const left = await store.findSandboxes({ ownerId: owner.id, states: LIVE_STATES, afterId: '', limit: PAGE });
  const verdicts = await Promise.all(left.map((record) => judgeSandbox(engine, record, 'dead')));
  const isDone = left.length < PAGE && verdicts.every(({ action, isElsewhere }) => action === 'keep' && !isElsewhere);
  if (!isDone || !(await store.removeOwner(owner.id, owner.heartbeatAt))) return;
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
