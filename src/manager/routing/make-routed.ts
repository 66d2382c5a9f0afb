/** A sandbox at the first choice that can make it. Each try is an intent of its own, and over before the next one begins. */
import { SubletError, throwIfAborted, toSubletError } from '../../core/errors.ts';
import type { SandboxId } from '../../core/ids.ts';
import type { NetworkLevel } from '../../core/network.ts';
import { tighter } from '../../core/network.ts';
import type { PassedOver } from '../../core/routing.ts';
import { describePassed, fallsThrough, isFault, routeExhausted } from '../../core/routing.ts';
import type { ResolvedSandbox } from '../../core/spec.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { NewSandbox } from '../../store/store.ts';
import type { FillSandbox } from '../create-sandbox.ts';
import { isGivenUp } from '../given-up.ts';
import type { Engine } from '../engine.ts';
import type { LiveSandbox } from '../live-sandbox.ts';
import type { MakeRequest, PreparedSandbox } from '../make-sandbox.ts';
import { makeSandbox, prepareSandbox } from '../make-sandbox.ts';

export interface RoutedWork {
  /** In order, at least one. With one alone this is a create like any other. */
  readonly choices: readonly ResolvedSandbox[];
  readonly request: (wanted: ResolvedSandbox) => Omit<MakeRequest, 'wanted'>;
  /** Writes the intent; undefined when another was faster. `failed`: the try before, which is destroyed or will be. */
  readonly commit: (
    row: NewSandbox,
    wanted: ResolvedSandbox,
    failed: SandboxId | undefined,
  ) => Promise<SandboxRecord | undefined>;
  readonly signal: AbortSignal | undefined;
  readonly fill?: FillSandbox | undefined;
}

export interface Routed {
  readonly live: LiveSandbox;
  /** The choices before it, each with its reason. */
  readonly passedOver: readonly PassedOver[];
}

/** What was asked for and what else would do, in order. */
export function choicesOf(resolved: ResolvedSandbox): readonly ResolvedSandbox[] {
  const { otherwise, ...first } = resolved;
  return [first, ...(otherwise ?? [])];
}

/**
 * undefined when another process was faster. ROUTE_EXHAUSTED when no choice is left, with a reason for each; the only
 * choice's own error when there was one. A choice whose breaker is open is put off, not ruled out: it is tried last, so that
 * a breaker never refuses what a provider would give.
 */
export async function makeRouted(engine: Engine, work: RoutedWork): Promise<Routed | undefined> {
  const made = await new Course(engine, work).run();
  return made === OUTRUN ? undefined : made;
}

const OUTRUN = Symbol('another process was faster');

/** One way through the choices, and what is known on it. */
class Course {
  readonly #engine: Engine;
  readonly #work: RoutedWork;
  readonly #isOnly: boolean;
  /** By profile, in the order in which they were passed over. */
  readonly #misses = new Map<string, { readonly passed: PassedOver; readonly error: SubletError }>();
  #failed: SandboxId | undefined;
  /** No try has a weaker network than the one before it. */
  #floor: NetworkLevel | undefined;

  constructor(engine: Engine, work: RoutedWork) {
    this.#engine = engine;
    this.#work = work;
    this.#isOnly = work.choices.length === 1;
  }

  async run(): Promise<Routed | typeof OUTRUN> {
    const engine = this.#engine;
    // What the store refuses is no choice's fault: it is asked first.
    if (!this.#isOnly) await Promise.all([engine.installation(), engine.register()]);
    const putOff: ResolvedSandbox[] = [];
    for (const wanted of this.#work.choices) {
      const refusal = this.#isOnly ? undefined : engine.breakers.refusal(wanted, engine.ports.clock.elapsed());
      const made = refusal === undefined ? await this.#try(wanted) : undefined;
      if (made !== undefined) return made;
      if (refusal === undefined) continue;
      putOff.push(wanted);
      await this.#passOver(wanted, new SubletError('PROVIDER_UNAVAILABLE', refusal), undefined);
    }
    for (const wanted of putOff) {
      const made = await this.#try(wanted);
      if (made !== undefined) return made;
    }
    const misses = [...this.#misses.values()];
    throw routeExhausted(
      misses.map(({ passed }) => passed),
      misses.map(({ error }) => error),
    );
  }

  /** undefined when the next choice is to be tried. */
  async #try(choice: ResolvedSandbox): Promise<Routed | typeof OUTRUN | undefined> {
    const engine = this.#engine;
    throwIfAborted(this.#work.signal);
    const wanted = this.#floor === undefined ? choice : { ...choice, network: tighter(choice.network, this.#floor) };
    const end = engine.breakers.begin(wanted);
    try {
      const prepared = await this.#prepare(wanted);
      const made = prepared && (await this.#make(wanted, prepared));
      if (made === undefined || made === OUTRUN) return made;
      if (!this.#isOnly && engine.breakers.succeeded(wanted))
        await this.#tell('provider.recovered', wanted, 'works again');
      this.#misses.delete(wanted.profile);
      return { live: made, passedOver: this.#passed };
    } finally {
      end();
    }
  }

  async #prepare(wanted: ResolvedSandbox): Promise<PreparedSandbox | undefined> {
    const request = this.#work.request(wanted);
    const cause = [request.cause, ...this.#passed.map(describePassed)].join('; ');
    try {
      return await prepareSandbox(this.#engine, { ...request, wanted, cause });
    } catch (error) {
      await this.#passOrThrow(wanted, error, undefined);
      return undefined;
    }
  }

  async #make(wanted: ResolvedSandbox, prepared: PreparedSandbox): Promise<LiveSandbox | typeof OUTRUN | undefined> {
    const { commit, signal, fill } = this.#work;
    let intent: SandboxRecord | undefined;
    const commitTry = async (row: NewSandbox): Promise<SandboxRecord | undefined> => {
      intent = await commit(row, wanted, this.#failed);
      this.#floor = intent?.network ?? this.#floor;
      return intent;
    };
    try {
      return (await makeSandbox(this.#engine, prepared, commitTry, signal, fill)) ?? OUTRUN;
    } catch (error) {
      // Nothing was asked of the provider yet.
      if (intent === undefined) throw error;
      await this.#passOrThrow(wanted, error, intent.id);
      this.#failed = intent.id;
      return undefined;
    }
  }

  /** Throws what was thrown, unless it is a reason to try the next choice. */
  async #passOrThrow(wanted: ResolvedSandbox, cause: unknown, tried: SandboxId | undefined): Promise<void> {
    if (this.#isOnly) throw cause;
    const engine = this.#engine;
    const error = toSubletError(cause, 'PROVIDER_UNAVAILABLE', this.#work.signal);
    if (isFault(error) && engine.breakers.failed(wanted, error, engine.ports.clock.elapsed()))
      await this.#tell('provider.tripped', wanted, error.message);
    if (!fallsThrough(error)) throw error;
    // What another process has, or took from us, is not ours to replace.
    const row = tried === undefined ? undefined : await engine.ports.store.getSandbox(tried);
    if (tried !== undefined && (row === undefined || !isGivenUp(row))) throw error;
    await this.#passOver(wanted, error, tried);
  }

  async #passOver(wanted: ResolvedSandbox, error: SubletError, sandboxId: SandboxId | undefined): Promise<void> {
    const { profile, provider } = wanted;
    const { code, message: reason, hint } = error;
    const passed: PassedOver = { profile, provider, code, reason, hint, sandboxId };
    this.#misses.delete(profile);
    this.#misses.set(profile, { passed, error });
    const cause = describePassed(passed);
    const { sessionKey } = this.#work.request(wanted);
    // A session's caller gets a notice.
    this.#engine.ports.log[sessionKey === undefined ? 'warn' : 'info']({ provider, profile, code }, cause);
    const details = { provider, profile, code };
    await this.#engine.tell({ type: 'route.passed-over', sandboxId, sessionKey, cause, details });
  }

  #tell(type: 'provider.tripped' | 'provider.recovered', wanted: ResolvedSandbox, cause: string): Promise<void> {
    const { provider, profile } = wanted;
    return this.#engine.tell({ type, cause, details: { provider, profile } });
  }

  get #passed(): readonly PassedOver[] {
    return [...this.#misses.values()].map(({ passed }) => passed);
  }
}
