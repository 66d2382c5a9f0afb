/** Compares what is on record with what a provider has. What nobody claims is an orphan; what is claimed and missing is lost. */
import type { ReapReport, ReapVerdict } from '../core/api.ts';
import { SubletError, toSubletError } from '../core/errors.ts';
import type { OwnerFact, Verdict } from '../core/recovery.ts';
import { LABEL } from '../core/spec.ts';
import { LIVE_STATES } from '../core/states.ts';
import type { ListedSandbox, SandboxProvider } from '../provider/provider.ts';
import type { Placement } from '../store/ledger.ts';
import type { SandboxRecord } from '../store/records.ts';
import { isAtRest, judgeAwakeSandboxes } from './awake-sandboxes.ts';
import { withDeadline } from './deadline.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { judgeMissingSandboxes } from './missing-sandboxes.ts';
import { judgeOrphans } from './orphans.ts';
import { isElsewhere, placeOf } from './provider-call.ts';
import type { Pass } from './reconcile-pass.ts';
import { sandboxPages } from './sandbox-pages.ts';
import { judgeSandbox, settleSandbox, toReapVerdict } from './settle-sandbox.ts';

type ProviderReport = ReapReport['providers'][number];

interface Judged {
  readonly record: SandboxRecord;
  readonly owner: OwnerFact;
  readonly verdict: Verdict;
}

const PAGE = 500;
/** A provider with many pages may take this many times as long as for anything else. */
const LIST_TIMES = 5;

/** Never throws: one provider that is down delays only its own. */
export async function reconcile(
  engine: Engine,
  placement: Placement,
  { census, lanes, dryRun }: Pick<Pass, 'census' | 'lanes' | 'dryRun'>,
): Promise<{ readonly verdicts: readonly ReapVerdict[]; readonly report: ProviderReport }> {
  const verdicts: ReapVerdict[] = [];
  let listed: readonly ListedSandbox[] = [];
  try {
    const provider = await engine.ports.provider(placement.provider, placement.profile);
    const pass = { engine, provider, placement, scope: scopeOf(engine, provider, placement), census, lanes, dryRun };
    // The provider before the rows: a row is written before its sandbox is made, so that everything listed has one by now.
    listed = await listAll(engine, provider);
    await compare(pass, listed, verdicts);
    return { verdicts, report: { ...placement, listed: listed.length } };
  } catch (cause) {
    const error = describe(cause);
    engine.ports.log.warn({ ...placement, error }, 'provider not compared with the record');
    return { verdicts, report: { ...placement, listed: listed.length, error } };
  }
}

async function compare(pass: Pass, listed: readonly ListedSandbox[], verdicts: ReapVerdict[]): Promise<void> {
  const states = new Map(listed.map(({ ref, state }) => [ref.name, state]));
  const claimed = new Set<string>();
  const missing: SandboxRecord[] = [];
  const awake: SandboxRecord[] = [];
  const rows = { provider: pass.placement.provider, states: LIVE_STATES };
  for await (const page of sandboxPages(pass.engine.ports.store, rows, PAGE)) {
    for (const record of page) claimed.add(record.name);
    const mine = page.filter((record) => isInScope(pass, record));
    const judged = await judgeAll(pass, mine);
    const abandoned = new Map<SandboxRecord, Verdict>();
    for (const { record, owner, verdict } of judged) {
      // What is to be destroyed need not be there; what is to be put to rest must.
      if (verdict.action !== 'destroy' && isMissing(record, owner, states)) missing.push(record);
      else if (verdict.action === 'keep' && isAwake(record, owner, states)) awake.push(record);
      else if (verdict.action === 'keep' || pass.dryRun) verdicts.push(toReapVerdict(record, verdict));
      else abandoned.set(record, verdict);
    }
    if (pass.dryRun) continue;
    await pass.lanes.run([...abandoned.keys()], async (record) => {
      const settled = await settleSandbox(pass.engine, record, abandoned.get(record) ?? { action: 'keep', reason: '' });
      verdicts.push(settled.verdict);
      return settled.isAnswered;
    });
  }
  verdicts.push(...(await judgeMissingSandboxes(pass, missing)));
  verdicts.push(...(await judgeAwakeSandboxes(pass, awake)));
  const unclaimed = listed.filter(({ ref }) => !claimed.has(ref.name));
  verdicts.push(...(await judgeOrphans(pass, unclaimed)));
}

function isInScope({ engine, provider, placement }: Pass, record: SandboxRecord): boolean {
  return record.profile === placement.profile && !isElsewhere(engine, provider, record);
}

async function judgeAll({ engine, ...pass }: Pass, records: readonly SandboxRecord[]): Promise<readonly Judged[]> {
  const census = await engine.owners.censusOf(
    records.map(({ ownerId }) => ownerId),
    pass.census,
  );
  return Promise.all(
    records.map(async (record) => {
      const owner = census.of(record.ownerId);
      return { record, owner, verdict: await judgeSandbox(engine, record, owner) };
    }),
  );
}

/** Of what a living process has, that process finds out by itself. */
function isMissing(record: SandboxRecord, owner: OwnerFact, states: ReadonlyMap<string, unknown>): boolean {
  if (states.has(record.name)) return false;
  if (record.state === 'creating' || record.state === 'destroying') return false;
  return owner !== 'alive' && owner !== 'unknown';
}

/** More so than its row says: what is paused keeps the processes that a stop ends. */
function isAwake(record: SandboxRecord, owner: OwnerFact, states: ReadonlyMap<string, string>): boolean {
  const state = states.get(record.name);
  const isHalfAwake = state === 'paused' && record.state === 'stopped';
  if (!isAtRest(record) || (state !== 'running' && !isHalfAwake)) return false;
  return owner !== 'alive' && owner !== 'unknown';
}

async function listAll(engine: Engine, provider: SandboxProvider): Promise<readonly ListedSandbox[]> {
  const filter = { [LABEL.installation]: await engine.installation() };
  const ms = engine.config.providerTimeoutMs * LIST_TIMES;
  const late = (): SubletError =>
    new SubletError(
      'PROVIDER_UNAVAILABLE',
      `Provider "${provider.id}" did not list its sandboxes within ${ms / 1000} s.`,
    );
  try {
    return await withDeadline(engine.ports.clock, { ms, late, signals: [engine.closing] }, async (signal) => {
      const listed: ListedSandbox[] = [];
      for await (const sandbox of provider.list(filter, signal)) {
        // A provider may filter loosely; what is not ours is nobody's business here.
        if (sandbox.labels[LABEL.installation] === filter[LABEL.installation]) listed.push(sandbox);
      }
      return listed;
    });
  } catch (cause) {
    throw toSubletError(cause, 'PROVIDER_UNAVAILABLE');
  }
}

function scopeOf(engine: Engine, provider: SandboxProvider, placement: Placement): string {
  const whole = `${placement.provider}/${placement.profile}`;
  const place = placeOf(engine, provider);
  return place === undefined ? whole : `${whole}@${place}`;
}
