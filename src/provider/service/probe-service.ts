/** What is there before anything is asked of the service, for `sublet doctor`. */
import { toSubletError } from '../../core/errors.ts';
import type { Finding, Probe } from '../provider.ts';
import { loadSdk, type SdkRequirement } from '../load-sdk.ts';

export interface ServiceCheck {
  readonly name: string;
  /** In words what was found; what it throws is what is missing, with the line that brings it as its hint. */
  readonly find: () => string | Promise<string>;
  /** It can do without. */
  readonly isOptional?: boolean;
}

export async function probeService(checks: readonly ServiceCheck[]): Promise<Probe> {
  const findings = await Promise.all(checks.map(look));
  return { usable: findings.every(({ level }) => level !== 'fail'), findings };
}

export function sdkCheck(providerId: string, need: SdkRequirement, load: () => Promise<unknown>): ServiceCheck {
  const find = async (): Promise<string> => {
    await loadSdk(providerId, need, load);
    return `${need.package} loads.`;
  };
  return { name: 'sdk', find };
}

async function look({ name, find, isOptional = false }: ServiceCheck): Promise<Finding> {
  try {
    return { name, level: 'ok', message: await find() };
  } catch (cause) {
    const { message, hint } = toSubletError(cause, 'PROVIDER_UNUSABLE');
    return { name, level: isOptional ? 'note' : 'fail', message, fix: hint };
  }
}
