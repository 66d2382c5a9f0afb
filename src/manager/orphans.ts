/** Sandboxes at a provider that carry our label and that no record claims. */
import type { ReapVerdict } from '../core/api.ts';
import { newId } from '../core/ids.ts';
import type { SandboxId } from '../core/ids.ts';
import { defaultPolicy } from '../core/policy.ts';
import type { OwnerFact, Verdict } from '../core/recovery.ts';
import { judgeOrphan } from '../core/recovery.ts';
import { LABEL } from '../core/spec.ts';
import { isLive } from '../core/states.ts';
import type { ListedSandbox } from '../provider/provider.ts';
import type { SandboxRecord } from '../store/records.ts';
import { finishDestroying } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import type { OwnerCensus } from './owner-watch.ts';
import type { Pass } from './reconcile-pass.ts';
import { sight } from './reconcile-pass.ts';

const KIND = 'execution';
const TAKEOVER_MS = 60_000;

export async function judgeOrphans(pass: Pass, unclaimed: readonly ListedSandbox[]): Promise<readonly ReapVerdict[]> {
  const { engine } = pass;
  const found: { readonly sandbox: ListedSandbox; readonly record: SandboxRecord | undefined }[] = [];
  for (const sandbox of unclaimed) {
    const record = await recordOf(pass, sandbox);
    // Its row came to life after the rows were read.
    if (record === undefined || !isLive(record.state)) found.push({ sandbox, record });
  }
  const sightings = await sight(
    pass,
    'orphan',
    found.map(({ sandbox }) => sandbox.ref.name),
  );
  const census = await engine.owners.censusOf(
    found.map(({ sandbox }) => sandbox.labels[LABEL.owner] ?? ''),
    pass.census,
  );
  const verdicts: ReapVerdict[] = [];
  for (const { sandbox, record } of found) {
    const sighting = sightings.get(sandbox.ref.name);
    const facts = { sightings: sighting?.count ?? 1, firstAt: sighting?.firstAt ?? engine.now(), now: engine.now() };
    // Of what is on record as destroyed or lost nobody has any use, whoever made it.
    const verdict = judgeOrphan(facts, record === undefined ? ownerOf(engine, census, sandbox) : 'none');
    verdicts.push(await settle(pass, sandbox, record, verdict));
  }
  return verdicts;
}

async function recordOf(
  { engine, placement }: Pass,
  { ref, labels }: ListedSandbox,
): Promise<SandboxRecord | undefined> {
  const id = labels[LABEL.sandbox];
  const record = id === undefined ? undefined : await engine.ports.store.getSandbox(id);
  return record?.name === ref.name && record.provider === placement.provider ? record : undefined;
}

/** What this process is making or undoing is its own; what it only once made is nobody's. */
function ownerOf(engine: Engine, census: OwnerCensus, { labels }: ListedSandbox): OwnerFact {
  const owner = census.of(labels[LABEL.owner] ?? '');
  if (owner !== 'self') return owner;
  return engine.making.has(labels[LABEL.sandbox] ?? '') ? 'alive' : 'none';
}

async function settle(
  pass: Pass,
  sandbox: ListedSandbox,
  record: SandboxRecord | undefined,
  verdict: Verdict,
): Promise<ReapVerdict> {
  const told: ReapVerdict = {
    sandboxId: record?.id,
    name: sandbox.ref.name,
    provider: pass.placement.provider,
    state: record?.state,
    ...verdict,
  };
  if (verdict.action !== 'destroy' || pass.dryRun) return told;
  try {
    const claimed = await claim(pass, sandbox, record, verdict.reason);
    if (claimed !== undefined) await finishDestroying(pass.engine, claimed);
    return told;
  } catch (cause) {
    return { ...told, error: describe(cause) };
  }
}

/** Puts it on record as being destroyed, so that one process does it and another goes on if that one dies. */
async function claim(
  pass: Pass,
  { ref, labels }: ListedSandbox,
  record: SandboxRecord | undefined,
  cause: string,
): Promise<SandboxRecord | undefined> {
  const { engine } = pass;
  const { store } = engine.ports;
  await engine.register();
  const now = engine.now();
  const row = record ?? (await store.insertSandbox(orphanRow(pass, ref.name, labels[LABEL.sandbox], cause, now)));
  const claimed = await store.moveSandbox(row.id, {
    to: 'destroying',
    at: now,
    cause,
    ...engine.signature,
    from: [row.state],
    version: row.version,
    patch: { ownerId: engine.ownerId, providerId: ref.providerId, dueAt: now + TAKEOVER_MS },
  });
  if (claimed === undefined) return undefined;
  const { ownerId } = engine;
  await store.appendEvents([{ at: now, type: 'orphan.found', sandboxId: row.id, ownerId, cause }]);
  return claimed;
}

function orphanRow(
  { engine, placement }: Pass,
  name: string,
  id: SandboxId | undefined,
  cause: string,
  now: number,
): Parameters<Pass['engine']['ports']['store']['insertSandbox']>[0] {
  return {
    ...placement,
    ...engine.ownership,
    id: id ?? newId('sbx', engine.config.random),
    name,
    kind: KIND,
    ephemeral: true,
    sessionKey: undefined,
    network: 'none',
    policy: defaultPolicy(KIND),
    spec: {},
    createdAt: now,
    dueAt: now + TAKEOVER_MS,
    deadManAt: undefined,
    cause,
  };
}
