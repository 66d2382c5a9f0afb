/** Gets back what is due, what dead processes left and what nobody claims. Every manager has one; they do not get in each other's way. */
import { containAgain } from './contain.ts';
import type { ReapOptions, ReapReport, ReapVerdict, SweepReport } from '../core/api.ts';
import type { OwnerId } from '../core/ids.ts';
import type { Placement } from '../store/ledger.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import type { LanePass } from './lanes.ts';
import { Lanes } from './lanes.ts';
import type { OwnerCensus } from './owner-watch.ts';
import { placeOf } from './provider-call.ts';
import { reconcile } from './reconcile.ts';
import { recoverOwner } from './recover-owners.ts';
import { sweepDue } from './sweep.ts';

export class Reaper {
  readonly #engine: Engine;
  readonly #lanes: Lanes;
  /** When this process last compared each place, by a clock that nobody sets. */
  readonly #comparedAt = new Map<string, number>();

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#lanes = new Lanes(engine.closing);
  }

  /** What dead processes left, then what is due, then, when it is this process's turn, what providers have. Never throws. */
  async sweep(): Promise<SweepReport> {
    try {
      return await this.#sweep(await this.#engine.owners.census());
    } catch (cause) {
      this.#engine.ports.log.warn({ error: describe(cause) }, 'sweep failed');
      return { examined: 0, actions: [] };
    }
  }

  /** What processes left that are dead for certain. */
  async recoverDead(): Promise<void> {
    await this.#recover(await this.#engine.owners.census(), this.#lanes.pass(), false);
  }

  /** What one process left, if it is dead. True when nothing of it is left to be seen to. */
  async recoverOwner(ownerId: OwnerId): Promise<boolean> {
    const census = await this.#engine.owners.census();
    const owner = census.dead.find(({ id }) => id === ownerId);
    if (owner === undefined) return census.of(ownerId) === 'none';
    await recoverOwner(this.#engine, owner, { lanes: this.#lanes.pass(), dryRun: false });
    return (await this.#engine.ports.store.getOwner(ownerId)) === undefined;
  }

  /** Everything, now, whoever's turn it is. */
  async reap({ dryRun = false }: ReapOptions): Promise<ReapReport> {
    const engine = this.#engine;
    const census = await engine.owners.census();
    const lanes = this.#lanes.pass();
    const recovered = await this.#recover(census, lanes, dryRun);
    const placements = await engine.ports.store.ledger.placements();
    const passes = await Promise.all(
      placements.map((placement) => reconcile(engine, placement, { census, lanes, dryRun })),
    );
    const seen = new Set(recovered.map(({ name }) => name));
    const compared = passes.flatMap(({ verdicts }) => verdicts).filter(({ name }) => !seen.has(name));
    return { dryRun, verdicts: [...recovered, ...compared], providers: passes.map(({ report }) => report) };
  }

  async #sweep(census: OwnerCensus): Promise<SweepReport> {
    const lanes = this.#lanes.pass();
    await containAgain(this.#engine);
    const recovered = await this.#recover(census, lanes, false);
    const swept = await sweepDue(this.#engine, census, lanes);
    const compared = await this.#compareInTurn(census, lanes);
    const acted = [...recovered, ...compared].filter(({ action }) => action !== 'keep' && action !== 'watch');
    const actions = acted.flatMap(({ sandboxId, action, reason, error }) =>
      sandboxId === undefined ? [] : [{ sandboxId, action, reason, error }],
    );
    return { examined: swept.examined + acted.length, actions: [...actions, ...swept.actions] };
  }

  async #recover(census: OwnerCensus, lanes: LanePass, dryRun: boolean): Promise<readonly ReapVerdict[]> {
    const verdicts: ReapVerdict[] = [];
    for (const owner of census.dead) {
      if (this.#engine.closing.aborted) break;
      try {
        verdicts.push(...(await recoverOwner(this.#engine, owner, { lanes, dryRun })));
      } catch (cause) {
        this.#engine.ports.log.warn({ ownerId: owner.id, error: describe(cause) }, 'dead owner not recovered');
      }
    }
    return verdicts;
  }

  async #compareInTurn(census: OwnerCensus, lanes: LanePass): Promise<readonly ReapVerdict[]> {
    const placements = await this.#engine.ports.store.ledger.placements();
    const passes = await Promise.all(
      placements.map((placement) =>
        this.#compareIfDue(placement, census, lanes).catch((cause: unknown) => {
          this.#engine.ports.log.warn(
            { ...placement, error: describe(cause) },
            'provider not compared with the record',
          );
          return [];
        }),
      ),
    );
    return passes.flat();
  }

  // One process in each interval; a provider that works on one machine only is asked on each.
  async #compareIfDue(placement: Placement, census: OwnerCensus, lanes: LanePass): Promise<readonly ReapVerdict[]> {
    const engine = this.#engine;
    const { reconcileIntervalMs: ms } = engine.config;
    const elapsed = engine.ports.clock.elapsed();
    const place = placeOf(engine, await engine.ports.provider(placement.provider, placement.profile));
    const where = place === undefined ? '' : `@${place}`;
    const turn = `reconcile:${placement.provider}/${placement.profile}${where}`;
    if (ms <= 0 || elapsed - (this.#comparedAt.get(turn) ?? -Infinity) < ms) return [];
    if (!(await engine.ports.store.ledger.claimTurn(turn, engine.ownerId, engine.now(), ms))) return [];
    this.#comparedAt.set(turn, elapsed);
    return (await reconcile(engine, placement, { census, lanes, dryRun: false })).verdicts;
  }
}
