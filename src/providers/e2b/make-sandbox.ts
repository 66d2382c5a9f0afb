/** Making a sandbox at a service that knows no names: ours is a label, and of several that carry it the oldest counts. */
import type { SandboxSpec } from '../../provider/provider.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import { abortedError, SubletError } from '../../core/errors.ts';
import type { E2bApi, NewE2bSandbox, SandboxDetail } from './e2b-api.ts';
import { DESKTOP_SDK, type E2bConfig } from './e2b-config.ts';
import { isAmbiguous, isGone, toE2bError } from './e2b-errors.ts';

/** Where the name is kept. */
export const NAME = 'sublet.name';

/** What the service has of that name, paused ones included. */
export async function oldestOf(api: E2bApi, name: string, signal: AbortSignal): Promise<SandboxDetail | undefined> {
  const found: SandboxDetail[] = [];
  for await (const detail of api.list({ [NAME]: name }, signal)) found.push(detail);
  return found.toSorted(byAge)[0];
}

/**
 * Never asks twice: where it is not known whether the first asking made one, the name is looked up. Whoever finds an older
 * one of that name beside his own ends his own and takes that.
 */
export async function makeSandbox(
  api: E2bApi,
  config: E2bConfig,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<SandboxDetail> {
  assertPossible(spec);
  let made: SandboxDetail | undefined;
  try {
    made =
      spec.kind === 'desktop'
        ? await makeDesktop(api, config, spec, signal)
        : await api.create(toBody(config, spec), signal);
  } catch (cause) {
    if (signal.aborted) throw abortedError(signal);
    if (isGone(cause)) throw noTemplateError(config, spec, cause);
    const left = isAmbiguous(cause) ? await oldestOf(api, spec.name, signal) : undefined;
    if (left === undefined) throw cause;
    made = left;
  }
  const oldest = await oldestOf(api, spec.name, signal);
  if (oldest !== undefined && oldest.sandboxID !== made.sandboxID) await api.kill(made.sandboxID, signal);
  const kept = await api.find(oldest?.sandboxID ?? made.sandboxID, signal);
  if (kept !== undefined) return kept;
  throw new SubletError('CREATE_FAILED', `The sandbox "${spec.name}" was gone as soon as it was made.`, {
    hint: 'Raise e2b.timeout, or the autoStopMinutes of the profile.',
  });
}

function toBody(config: E2bConfig, spec: SandboxSpec): NewE2bSandbox {
  const pauses = config.onTimeout === 'pause';
  return {
    templateID: templateOf(config, spec),
    metadata: { ...spec.labels, [NAME]: spec.name },
    timeout: Math.ceil(timeoutMs(config, spec) / 1000),
    allow_internet_access: spec.network === 'open',
    autoPause: pauses,
    ...(pauses && !config.keepMemory ? { autoPauseMemory: false } : {}),
  };
}

/** With a screen: the SDK for desktops makes it, starts the display, and undoes it when that fails. */
async function makeDesktop(
  api: E2bApi,
  config: E2bConfig,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<SandboxDetail> {
  const { Sandbox } = await loadSdk('e2b', DESKTOP_SDK, () => import('@e2b/desktop'));
  const { templateID, metadata, allow_internet_access: allowInternetAccess } = toBody(config, spec);
  const desktop = await Sandbox.create(templateID, {
    apiKey: config.apiKey,
    ...config.connection,
    metadata: { ...metadata },
    allowInternetAccess,
    timeoutMs: timeoutMs(config, spec),
    lifecycle: { onTimeout: config.onTimeout },
    signal,
  }).catch((cause: unknown) => {
    if ((cause as Error).name !== 'TimeoutError' && (cause as Error).name !== 'CommandExitError') throw cause;
    throw new SubletError('CREATE_FAILED', `The desktop did not start: ${toE2bError(cause).message}`, {
      hint: `Use a template with a desktop, such as "desktop"; this was "${templateID}".`,
      cause,
    });
  });
  const detail = await api.find(desktop.sandboxId, signal);
  if (detail !== undefined) return detail;
  throw new SubletError('CREATE_FAILED', 'The desktop was gone as soon as it was made.', {
    hint: 'Raise e2b.timeout.',
  });
}

function templateOf({ template }: E2bConfig, spec: SandboxSpec): string {
  return spec.image ?? template ?? (spec.kind === 'desktop' ? 'desktop' : 'base');
}

function timeoutMs({ timeoutMs: unlimited, maxTimeoutMs }: E2bConfig, { deadManMs }: SandboxSpec): number {
  return Math.min(deadManMs ?? unlimited, maxTimeoutMs);
}

function byAge(a: SandboxDetail, b: SandboxDetail): number {
  const [left = '', right = ''] = [a.startedAt, b.startedAt];
  return left < right ? -1 : left > right ? 1 : a.sandboxID < b.sandboxID ? -1 : 1;
}

/** For what does not come through the manager, which asks the capabilities. */
function assertPossible(spec: SandboxSpec): void {
  if (spec.network === 'allowlist') {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', 'The provider "e2b" cannot enforce network "allowlist".', {
      hint: 'It can enforce: open, none.',
    });
  }
}

function noTemplateError(config: E2bConfig, spec: SandboxSpec, cause: unknown): SubletError {
  return new SubletError('CREATE_FAILED', `E2B has no template "${templateOf(config, spec)}" for this key.`, {
    cause,
    details: { provider: 'e2b' },
    hint: 'Name another by image, or by e2b.template in the profile.',
  });
}
