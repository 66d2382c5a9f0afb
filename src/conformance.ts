/** The provider contract on a provider of this machine, case by case: what `sublet doctor --conformance` runs. */
import type { Clock } from './core/clock.ts';
import { toSubletError } from './core/errors.ts';
import { LABEL } from './core/spec.ts';
import { openProvider, type Installation } from './open.ts';
import type { SandboxProvider } from './provider/provider.ts';

export interface ConformanceResult {
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'skipped';
  /** Why it failed or does not apply. */
  readonly reason?: string | undefined;
}

/** The provider contract, case by case, on a provider of this machine. What a case makes is destroyed after it. */
export async function* runConformance(
  installation: Installation,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<ConformanceResult, void, void> {
  const { clock } = installation;
  const startedAt = clock.now();
  const contract = await import('./testing/provider-contract.ts');
  const secondProvider = (): Promise<SandboxProvider> => openProvider(installation, id, id);
  const provider = await secondProvider();
  try {
    for (const testCase of contract.providerContract) {
      signal.throwIfAborted();
      const { name } = testCase;
      const missing = contract.missingCapabilities(testCase, provider);
      if (missing.length > 0) {
        yield { name, status: 'skipped', reason: `not claimed: ${missing.join(', ')}` };
        continue;
      }
      yield await within(clock, signal, (limited) =>
        contract.runProviderCase(testCase, { provider, signal: limited, secondProvider }),
      ).then(
        (): ConformanceResult => ({ name, status: 'passed' }),
        (cause: unknown): ConformanceResult => ({
          name,
          status: 'failed',
          reason: toSubletError(cause, 'INTERNAL').message,
        }),
      );
    }
  } finally {
    await destroyLeftovers(provider, startedAt);
    await provider.close();
  }
}

/** A case that never ended did not clean up either. Only what the contract made since, by its label. */
async function destroyLeftovers(provider: SandboxProvider, startedAt: number): Promise<void> {
  const signal = AbortSignal.timeout(CASE_TIMEOUT_MS);
  for await (const { ref, labels, createdAt } of provider.list({}, signal)) {
    const isOurs = labels[LABEL.installation]?.startsWith('contract-') === true;
    if (isOurs && createdAt !== undefined && createdAt >= startedAt) await provider.destroy(ref, signal);
  }
}

const CASE_TIMEOUT_MS = 60_000;

/** A provider that does not even heed the signal fails the case all the same. */
async function within(clock: Clock, outer: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const limit = new AbortController();
  const signal = AbortSignal.any([outer, limit.signal]);
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  const seconds = CASE_TIMEOUT_MS / 1_000;
  const cancel = clock.schedule(CASE_TIMEOUT_MS, () => limit.abort(new Error(`not over after ${seconds} seconds`)));
  try {
    await Promise.race([work(signal), stopped]);
  } finally {
    cancel();
  }
}
