/** Loads an optional package late, and says how to install it when it is missing. */
import { SubletError } from '../core/errors.ts';

export interface SdkRequirement {
  readonly package: string;
  readonly range: string;
}

/** As a shell takes it: a range may hold what a shell would take for a redirection. */
export function installLine({ package: name, range }: SdkRequirement): string {
  const wanted = `${name}@${range}`;
  return `npm install ${/^[\w@/.^~-]+$/.test(wanted) ? wanted : `'${wanted}'`}`;
}

/** UNSUPPORTED with the install line when the package does not load. */
export async function loadSdk<T>(providerId: string, need: SdkRequirement, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new SubletError(
      'UNSUPPORTED',
      `Provider "${providerId}" needs ${need.package}@${need.range}, which did not load.`,
      {
        cause,
        hint: installLine(need),
      },
    );
  }
}
