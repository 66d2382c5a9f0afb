/** The provider contract as data: what every adapter must do, checked on a real one. Register each case with any test runner. */
import { randomUUID } from 'node:crypto';
import type { Capability } from '../provider/capabilities.ts';
import type { SandboxProvider, SandboxSpec } from '../provider/provider.ts';
import { backgroundCases } from './provider-contract/background-cases.ts';
import { certaintyCases } from './provider-contract/certainty-cases.ts';
import { commandCases } from './provider-contract/command-cases.ts';
import { endingCases } from './provider-contract/ending-cases.ts';
import { fileCases } from './provider-contract/file-cases.ts';
import { fileNameCases } from './provider-contract/file-name-cases.ts';
import { inputCases } from './provider-contract/input-cases.ts';
import { lifecycleCases } from './provider-contract/lifecycle-cases.ts';
import { outputCases } from './provider-contract/output-cases.ts';
import type { ProviderCase, ProviderCaseContext, ProviderSubject } from './provider-contract/provider-case.ts';
import { ptyCases } from './provider-contract/pty-cases.ts';
import { reachCases } from './provider-contract/reach-cases.ts';
import { resetCases } from './provider-contract/reset-cases.ts';
import { resourceCases } from './provider-contract/resource-cases.ts';
import { stateCases } from './provider-contract/state-cases.ts';

export type { ProviderCase, ProviderCaseContext, ProviderSubject } from './provider-contract/provider-case.ts';

export const providerContract: readonly ProviderCase[] = [
  ...lifecycleCases,
  ...certaintyCases,
  ...commandCases,
  ...inputCases,
  ...outputCases,
  ...endingCases,
  ...backgroundCases,
  ...ptyCases,
  ...fileCases,
  ...fileNameCases,
  ...stateCases,
  ...resetCases,
  ...resourceCases,
  ...reachCases,
];

/** Capabilities the case needs and the provider does not claim: the only reason to skip it. */
export function missingCapabilities(
  testCase: ProviderCase,
  provider: Pick<SandboxProvider, 'capabilities'>,
): readonly Capability[] {
  return (testCase.needs ?? []).filter((need) => !provider.capabilities.has(need));
}

/** Runs one case and destroys every sandbox it asked for, whatever happened. */
export async function runProviderCase(testCase: ProviderCase, subject: ProviderSubject): Promise<void> {
  const { provider, signal } = subject;
  const names = new Set<string>();
  const others: SandboxProvider[] = [];
  const spec = (overrides: Partial<SandboxSpec> = {}): SandboxSpec => {
    const made = { ...defaultSpec(provider), ...subject.defaults, ...overrides };
    names.add(made.name);
    return made;
  };
  const context: ProviderCaseContext = {
    provider,
    signal,
    spec,
    create: (overrides) => provider.create(spec(overrides), signal),
    second: async () => {
      const other = (await subject.secondProvider?.()) ?? provider;
      if (other !== provider) others.push(other);
      return other;
    },
  };
  try {
    await testCase.run(context);
  } finally {
    // Not the case's signal: clean-up happens also when the case ran out of time.
    await Promise.all([...names].map((name) => provider.destroy({ name }, AbortSignal.timeout(60_000))));
    await Promise.all(others.map((other) => other.close()));
  }
}

/** The tightest network the provider can hold: a case that needs more asks for it. */
function defaultSpec(provider: SandboxProvider): SandboxSpec {
  const id = randomUUID().replaceAll('-', '').slice(0, 16);
  return {
    name: `sublet-${id}`,
    labels: { 'sublet.installation': `contract-${id}` },
    kind: 'execution',
    network: provider.capabilities.has('network-none') ? 'none' : 'open',
    ephemeral: false,
  };
}
