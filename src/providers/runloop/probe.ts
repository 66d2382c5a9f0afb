/** Whether there is a key and the SDK, for `sublet doctor`. The service is not asked. */
import { toSubletError } from '../../core/errors.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import type { Finding, Probe } from '../../provider/provider.ts';
import { parseRunloopConfig, SDK } from './runloop-config.ts';

export async function probeRunloop(context: ProviderContext): Promise<Probe> {
  const findings = [
    await look('key', async () => `There is one for ${parseRunloopConfig(context).baseUrl}.`),
    await look('sdk', async () => {
      await loadSdk('runloop', SDK, () => import('@runloop/api-client'));
      return `${SDK.package} loads.`;
    }),
  ];
  return { usable: findings.every(({ level }) => level !== 'fail'), findings };
}

async function look(name: string, find: () => Promise<string>): Promise<Finding> {
  try {
    return { name, level: 'ok', message: await find() };
  } catch (cause) {
    const { message, hint } = toSubletError(cause, 'PROVIDER_UNUSABLE');
    return { name, level: 'fail', message, fix: hint };
  }
}
