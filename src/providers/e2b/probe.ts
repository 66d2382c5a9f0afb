/** What is there before anything is asked of the service: a key, and the SDK. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import { type SdkRequirement } from '../../provider/load-sdk.ts';
import type { Finding, Probe } from '../../provider/provider.ts';
import { API_KEY, DESKTOP_SDK, E2B_SDK } from './e2b-config.ts';

export async function probeE2b(context: ProviderContext): Promise<Probe> {
  const key: Finding =
    context.secret(API_KEY) === undefined
      ? { name: 'key', level: 'fail', message: `${API_KEY} is not set.`, fix: `sublet config set ${API_KEY}` }
      : { name: 'key', level: 'ok', message: `${API_KEY} is set.` };
  const sdk = sdkFinding(E2B_SDK, await loads(() => import('e2b')), 'fail');
  const desktop = sdkFinding(DESKTOP_SDK, await loads(() => import('@e2b/desktop')), 'note');
  const findings = [key, sdk, desktop];
  return { usable: findings.every(({ level }) => level !== 'fail'), findings };
}

async function loads(load: () => Promise<unknown>): Promise<boolean> {
  return load().then(
    () => true,
    () => false,
  );
}

function sdkFinding(need: SdkRequirement, isThere: boolean, without: 'fail' | 'note'): Finding {
  const name = 'package';
  if (isThere) return { name, level: 'ok', message: `${need.package} is installed.` };
  const what = without === 'fail' ? 'is not installed.' : 'is not installed: no sandboxes of kind desktop.';
  return { name, level: without, message: `${need.package} ${what}`, fix: `npm install ${need.package}@${need.range}` };
}
