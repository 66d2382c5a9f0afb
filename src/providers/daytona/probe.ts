/** Whether there is a key and a way to speak to Daytona, for `sublet doctor`. The service is not asked. */
import { toSubletError } from '../../core/errors.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import type { Finding, Probe } from '../../provider/provider.ts';
import { type DaytonaConfig, parseDaytonaConfig, SDK } from './daytona-config.ts';

export async function probeDaytona(context: ProviderContext): Promise<Probe> {
  const findings: Finding[] = [];
  const config = await note(
    findings,
    'key',
    () => parseDaytonaConfig(context),
    ({ apiUrl }) => `There is one for ${apiUrl}.`,
  );
  if (config?.transport !== 'toolbox')
    await note(
      findings,
      'sdk',
      () => loadSdk('daytona', SDK, () => import('@daytona/sdk')),
      () => `${SDK.package} loads.`,
    );
  return { usable: findings.every(({ level }) => level !== 'fail'), findings };
}

async function note<T extends DaytonaConfig | object>(
  findings: Finding[],
  name: string,
  get: () => T | Promise<T>,
  say: (value: T) => string,
): Promise<T | undefined> {
  try {
    const value = await get();
    findings.push({ name, level: 'ok', message: say(value) });
    return value;
  } catch (cause) {
    const { message, hint } = toSubletError(cause, 'PROVIDER_UNUSABLE');
    findings.push({ name, level: 'fail', message, fix: hint });
    return undefined;
  }
}
