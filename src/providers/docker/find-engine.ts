/** Connects to the first engine that answers, or says what was tried and how each of it failed. */
import type { Clock } from '../../core/clock.ts';
import { SubletError, toSubletError } from '../../core/errors.ts';
import { type EngineCandidate, engineCandidates, type Surroundings, surroundingsOf } from './engine-candidates.ts';
import { EngineClient } from './engine-client.ts';
import { describeEndpoint } from './engine-endpoint.ts';

/** An engine that is there says so at once; one that hangs must not hold up the search. */
const PATIENCE_MS = 5_000;

export async function findEngine(
  host: string | undefined,
  clock: Clock,
  surroundings: Surroundings = surroundingsOf({}),
): Promise<EngineClient> {
  const failures: { readonly candidate: EngineCandidate; readonly error: SubletError }[] = [];
  for (const candidate of await engineCandidates(host, surroundings)) {
    try {
      return await EngineClient.connect(candidate.endpoint, clock, { patienceMs: PATIENCE_MS });
    } catch (cause) {
      failures.push({ candidate, error: toSubletError(cause, 'PROVIDER_UNAVAILABLE') });
    }
  }
  throw noEngineError(failures);
}

function noEngineError(
  failures: readonly { readonly candidate: EngineCandidate; readonly error: SubletError }[],
): SubletError {
  const tried = failures.map(
    ({ candidate, error }) => `${candidate.source}, ${describeEndpoint(candidate.endpoint)}: ${shortReason(error)}`,
  );
  const forbidden = failures.find(({ error }) => error.code === 'PERMISSION_DENIED')?.error;
  const only = failures.length === 1 ? failures[0]?.error : undefined;
  return new SubletError(
    forbidden?.code ?? only?.code ?? 'PROVIDER_UNUSABLE',
    `No Docker-compatible engine can be used. Tried:\n  ${tried.join('\n  ')}`,
    {
      cause: forbidden ?? only,
      details: { tried },
      hint:
        forbidden?.hint ??
        'Start Docker, Colima or Podman (podman system service), or name its socket with DOCKER_HOST=unix:///path.',
    },
  );
}

function shortReason(error: SubletError): string {
  if (error.code === 'PERMISSION_DENIED') return 'this user may not open it';
  return error.message.replace(/^.*did not answer: /, '');
}
