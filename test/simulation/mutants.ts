/** Deliberate faults of the engine, as small replacements of text. The simulation must find each of them. */

export interface Replacement {
  /** From the repository's root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  /** The law that it breaks, by its number. */
  readonly breaks: string;
  readonly replacements: readonly Replacement[];
  /** Looked for in the histories of pools. */
  readonly pools?: boolean | undefined;
  /** Looked for in the seeds that dwell on this: elsewhere what it takes comes about too rarely. */
  readonly theme?: string | undefined;
}

/** Looked for in the histories of pools. */
const POOL_MUTANTS: readonly Mutant[] = [
  mutant('a newcomer is served before those who wait', '14', [
    'src/store/pool-changes.ts',
    'if (takeable.length <= ahead) return undefined;',
    'if (takeable.length <= ahead * 0) return undefined;',
  ]),
  mutant('a pool grows beyond its limit', '14', [
    'src/stores/memory/memory-pools.ts',
    'return membersOf(scope).length >= maxTotal ? undefined : insert(newSandbox(sandbox));',
    'return membersOf(scope).length > maxTotal ? undefined : insert(newSandbox(sandbox));',
  ]),
  mutant('what was not clean after its reset goes back', '14', [
    'src/manager/pools/after-use.ts',
    "if (report?.clean !== true) return gone('reset not clean', { differences: report?.differences ?? [] });",
    '',
  ]),
  mutant('what was used is released as it is', '14', [
    'src/manager/pools/after-use.ts',
    "if (terms?.reuse !== 'reset') return gone(USED_ONCE);",
    "if (terms?.reuse !== 'reset') { kept.end(); await engine.ports.store.pools.giveBack(id, kept.token, 'as it is', engine.now()); return; }",
  ]),
  mutant('what a dead process left in a pool is nobody’s', '2', [
    'src/core/recovery.ts',
    "return { action: 'destroy', reason: `${who}, and no process keeps its pool` };",
    'return keep(`${who}, and no process keeps its pool`);',
  ]),
  mutant('a leader that dies leads for ever', '14', [
    'src/store/ledger-changes.ts',
    'turn.untilAt <= at || turn.untilAt > at + 2 * ms;',
    'at < 0 || turn.untilAt > at + 2 * ms;',
  ]),
  mutant('a pool never shrinks', '14', [
    'src/core/pool-policy.ts',
    'if (waiting > 0) return [];',
    'if (waiting >= 0) return [];',
  ]),
].map((each) => ({ ...each, pools: true }));

/** Looked for where holders stand still for longer than their terms, over a store that is slow to hear them. */
const LEASE_MUTANTS: readonly Mutant[] = [
  mutant('a lease is renewed whatever the token', '5', [
    'src/store/changes.ts',
    'if (sandbox.lease?.token !== token) return undefined;\n  const lease = { ...sandbox.lease,',
    'if (sandbox.lease === undefined || token < 0) return undefined;\n  const lease = { ...sandbox.lease,',
  ]),
].map((each) => ({ ...each, theme: 'leases' }));

/** Looked for where several share a session whose network is cut under them. */
const RATCHET_MUTANTS: readonly Mutant[] = [
  mutant('a sandbox is woken as open as it was', '6', [
    'src/manager/ready-sandbox.ts',
    'if (!violates(handle.network, record.network)) return handle.network;',
    'if (handle.ref.name !== "") return record.network;',
  ]),
  mutant('a handle goes on in a sandbox that was to be cut off', '6', [
    'src/manager/sandbox-holder.ts',
    '&& !violates(live.network, network);',
    '&& network.length > 0;',
  ]),
  mutant(
    'a sandbox that was tightened while it was made is given out',
    '6',
    [
      'src/manager/create-sandbox.ts',
      'if (violates(handle.network, running.network)) throw networkError(running, handle);',
      '',
    ],
    // Otherwise its first use finds out.
    [
      'src/manager/create-sandbox.ts',
      'live.lastHealthyAt = now;',
      'live.lastHealthyAt = now;\n  live.network = running.network;',
    ],
  ),
].map((each) => ({ ...each, theme: 'ratchet' }));

/** Looked for where some pick up what others find idle or abandoned, in the same moment. */
const MEETING_MUTANTS: readonly Mutant[] = [
  mutant('the sweep does not look whether the row has changed', '3', [
    'src/manager/sweep.ts',
    'const only = { version: record.version };',
    'const only = {};',
  ]),
  mutant(
    'recovery does not look whether the row has changed',
    '3',
    [
      'src/manager/settle-sandbox.ts',
      'const only = { version: record.version };\n  switch (action) {',
      'const only = {};\n  switch (action) {',
    ],
    [
      'src/manager/settle-sandbox.ts',
      'const only = { version: record.version };\n  const handle',
      'const only = {};\n  const handle',
    ],
  ),
  mutant(
    'the sweep does not care whose it is',
    '3',
    ['src/manager/sweep.ts', 'notOwnedBy: census.untouchable', 'notOwnedBy: []'],
    ['src/manager/sweep.ts', '!untouchable.includes(ownerId)', "ownerId !== '' || untouchable.length < 0"],
  ),
].map((each) => ({ ...each, theme: 'meeting' }));

export const MUTANTS: readonly Mutant[] = [
  mutant('what takes the place of an open sandbox runs before it has the files', '10', [
    'src/manager/recreate-tighter.ts',
    'isCarried ? carrying(engine, old) : undefined, signal);',
    'undefined, signal);\n    if (made !== undefined && isCarried) await carrying(engine, old)(made.live.handle, made.live.record, signal);',
  ]),
  mutant('the intent row is skipped', '1', [
    'src/manager/make-sandbox.ts',
    'const intent = await commit(prepared.plan.row);',
    'await prepared.provider.create(prepared.plan.spec, new AbortController().signal);\n  const intent = await commit(prepared.plan.row);',
  ]),
  mutant('a create that is given up on is not waited for', '1', [
    'src/manager/create-sandbox.ts',
    'const handle = await making?.catch(() => undefined);',
    'making?.catch(() => undefined);\n  const handle = undefined as SandboxHandle | undefined;',
  ]),
  mutant('an orphan is destroyed at first sight', '3', [
    'src/core/recovery.ts',
    'if (sightings < ORPHAN_SIGHTINGS) return `seen once, and twice is needed`;',
    'if (sightings > 0) return undefined;',
  ]),
  mutant('an orphan has no grace period', '3', [
    'src/core/recovery.ts',
    'export const ORPHAN_GRACE_MS: number = 2 * 60_000;',
    'export const ORPHAN_GRACE_MS: number = 0;',
  ]),
  mutant('what is frozen counts as stopped', '2', [
    'src/manager/reconcile.ts',
    "const isHalfAwake = state === 'paused' && record.state === 'stopped';",
    'const isHalfAwake = false;',
  ]),
  mutant('what was replaced while it was put to rest runs on when that fails', '2', [
    'src/manager/move-sandbox.ts',
    'if (back && (await isReplaced(engine, back))) engine.uncontained.set(back.id, back);',
    'void (back && isReplaced);',
  ]),
  mutant('a process is known by its pid alone', '2', [
    'test/simulation/host.ts',
    'identity.pidStartedAt === asked.pidStartedAt,',
    'asked.pidStartedAt >= 0,',
  ]),
  mutant('an owner who may live counts as dead', '3', [
    'src/core/liveness.ts',
    "return signs.silentMs >= SILENCE_LIMIT_MS ? 'dead' : 'unknown';",
    "return 'dead';",
  ]),
  mutant('who stands still is dead at once', '3', [
    'src/core/liveness.ts',
    'export const SILENCE_LIMIT_MS: number = 30 * HEARTBEAT_MS;',
    'export const SILENCE_LIMIT_MS: number = HEARTBEAT_MS;',
  ]),
  mutant('nobody who is silent is ever dead', '2', [
    'src/core/liveness.ts',
    "return signs.silentMs >= SILENCE_LIMIT_MS ? 'dead' : 'unknown';",
    "return 'unknown';",
  ]),
  mutant('who came after the census is nobody', '3', [
    'src/manager/owner-watch.ts',
    "return ownerIds.every((id) => earlier.of(id) !== 'none') ? earlier : this.census();",
    'return ownerIds.length >= 0 ? earlier : this.census();',
  ]),
  mutant('what fails at the provider is gone', '3', [
    'src/manager/ready-sandbox.ts',
    '(provider, ref, either) => provider.attach(ref, either, { env }),\n    signal,\n  );',
    '(provider, ref, either) => provider.attach(ref, either, { env }),\n    signal,\n  ).catch(() => undefined);',
  ]),
  mutant('only the first sandboxes that are listed are seen', '2', [
    'src/manager/reconcile.ts',
    'filter[LABEL.installation]) listed.push(sandbox);',
    'filter[LABEL.installation] && listed.length < 1) listed.push(sandbox);',
  ]),
  mutant(
    'the label of the installation is not asked for',
    '3',
    [
      'src/manager/reconcile.ts',
      'const filter = { [LABEL.installation]: await engine.installation() };',
      'const filter: Record<string, string> = {};',
    ],
    [
      'src/manager/reconcile.ts',
      'if (sandbox.labels[LABEL.installation] === filter[LABEL.installation]) listed.push(sandbox);',
      'listed.push(sandbox);',
    ],
  ),
  ...LEASE_MUTANTS,
  ...RATCHET_MUTANTS,
  ...MEETING_MUTANTS,
  mutant('two may take over one destroying', '3', [
    'src/manager/destroy-sandbox.ts',
    '{ ownerId: engine.ownerId, dueAt: engine.now() + DESTROY_TAKEOVER_MS },\n    record.version,',
    '{ ownerId: engine.ownerId, dueAt: engine.now() + DESTROY_TAKEOVER_MS },\n    undefined,',
  ]),
  mutant(
    'a dead owner is forgotten before its sandboxes are seen to',
    '2',
    [
      'src/manager/recover-owners.ts',
      'const verdicts: ReapVerdict[] = [];\n  let acts = 0;',
      'const verdicts: ReapVerdict[] = [];\n  if (!dryRun) await engine.ports.store.removeOwner(owner.id);\n  let acts = 0;',
    ],
    // Otherwise a comparison with the provider finds what is left.
    [
      'src/core/recovery.ts',
      "if (facts.owner === 'self') return",
      "if (facts.owner === 'self' || facts.owner === 'none') return",
    ],
  ),
  mutant('who had it before its owner died is passed over', '3', [
    'src/manager/heirs.ts',
    'if (heir !== undefined) return heir;',
    'if (heir !== undefined && heirs.length < 0) return heir;',
  ]),
  mutant('all who wait for a key create', '1', [
    'src/manager/acquire-session.ts',
    'if (!claimed.won || claimed.bound === undefined) return undefined;',
    'if (claimed.bound === undefined) return undefined;',
  ]),
  mutant('those who wait take over at once', '3', [
    'src/manager/acquire-session.ts',
    'const isOverdue = clock.elapsed() >= waitUntil && engine.now() >= (dueAt ?? Infinity);',
    'const isOverdue = waitUntil + (dueAt ?? 0) > 0;',
  ]),
  mutant(
    'a half-made sandbox is replaced without being given up',
    '4',
    [
      'src/manager/acquire-session.ts',
      'return abandoned && replace(engine, request, { ...bound, sandbox: abandoned }, undefined);',
      'return replace(engine, request, bound, undefined);',
    ],
    [
      'src/manager/acquire-session.ts',
      "const abandoned = await beginDestroying(engine, bound.sandbox, cause, { from: ['creating'] });",
      'void cause;',
    ],
  ),
  mutant('a key is forgotten whose sandbox may have been made', '4', [
    'src/manager/acquire-session.ts',
    'if (unmade !== undefined && isGivenUp(unmade))',
    "if (unmade !== undefined && unmade.state !== 'lost')",
  ]),
  mutant(
    'the token of a lease is not looked at',
    '5',
    ['src/manager/lease-check.ts', 'if (record.lease?.token !== token) throw lostError(record, token);', ''],
    ['src/manager/kept-lease.ts', 'if (this.lost.aborted) throw lostError({ id: this.sandboxId }, this.token);', ''],
  ),
  mutant('an expired lease is taken by anybody’s clock', '5', [
    'src/manager/lease-watch.ts',
    'return mayLive && stillMs < lease.ttlMs ? lease : undefined;',
    'return mayLive && stillMs < 0 ? lease : undefined;',
  ]),
  mutant(
    'a lease is held for longer than the store gives it',
    '5',
    [
      'src/manager/kept-lease.ts',
      'this.#goodUntil = takenAt + lease.ttlMs;',
      'this.#goodUntil = takenAt + 20 * lease.ttlMs;',
    ],
    ['src/manager/lease-check.ts', 'if (record.lease?.token !== token) throw lostError(record, token);', ''],
  ),
  mutant(
    'the ratchet is lost when a sandbox is replaced',
    '6',
    [
      'src/store/changes.ts',
      'session: { ...session, sandboxId: sandbox.id, profile: sandbox.profile, version: session.version + 1 },',
      'session: { ...session, sandboxId: sandbox.id, profile: sandbox.profile, network: sandbox.network, version: session.version + 1 },',
    ],
    ['src/manager/session-wants.ts', 'network: session.network,', "network: options.network ?? 'open',"],
  ),
  mutant('busy counts as idle', '7', [
    'src/manager/live-sandbox.ts',
    'return this.#uses > 0;',
    'return this.#uses < 0;',
  ]),
  mutant('the time of day is trusted', '7', [
    'src/manager/engine.ts',
    'return this.#startedAt + (this.ports.clock.elapsed() - this.#startedElapsed);',
    'return this.ports.clock.now() + 0 * (this.#startedAt + this.#startedElapsed);',
  ]),
  mutant('a loss is passed over in silence', '10', [
    'src/manager/acquire-session.ts',
    "if (sandbox.policy.onLost === 'fail') {",
    "if (sandbox.policy.onLost === 'fail' && sandbox.id === '') {",
  ]),
  mutant('who gets another sandbox is not told', '10', [
    'src/manager/acquire-session.ts',
    'const replacedNotices = told === undefined ? [] : [replacedNotice(old, live.id, engine.now(), told)];',
    'const replacedNotices = told === undefined || old.id !== "" ? [] : [replacedNotice(old, live.id, engine.now(), told)];',
  ]),
  mutant('a session moves to a weaker network than it has come to', '6', [
    'src/store/changes.ts',
    'if (!isFit || !isAtLeastAsTight(target.network, session.network)) return undefined;',
    'if (!isFit || isAtLeastAsTight(target.network, session.network) === undefined) return undefined;',
  ]),
  ...POOL_MUTANTS,
];

function mutant(name: string, breaks: string, ...replacements: readonly (readonly [string, string, string])[]): Mutant {
  return { name, breaks, replacements: replacements.map(([file, find, replace]) => ({ file, find, replace })) };
}
