/** The shape of one case, and what an adapter's test brings for it. */
import { randomUUID } from 'node:crypto';
import type { SandboxHandle, SandboxProvider, SandboxSpec } from '../../provider/provider.ts';
import type { Answer, FaultRequest, FaultSwitchboard } from '../loopback/fault-switchboard.ts';

/** What the adapter asks of the service: each is a kind of request. */
export type CloudOperation = 'create' | 'find' | 'list' | 'destroy' | 'exec';

export interface CloudSubject {
  readonly provider: SandboxProvider;
  readonly faults: FaultSwitchboard;
  /** Whether a request is part of that operation. */
  readonly matches: Readonly<Record<CloudOperation, (request: FaultRequest) => boolean>>;
  /** A refusal as the service words it. */
  readonly refusal: (status: number, operation: CloudOperation) => Answer;
  /** Every way in which the service says that a sandbox is gone. `operation` is where it says so. */
  readonly gone: readonly { readonly name: string; readonly operation: CloudOperation; readonly answer: Answer }[];
  /** An adapter with a key that the service does not know. */
  readonly withWrongKey: () => Promise<SandboxProvider>;
  /** How many sandboxes the service has, ours and others'. */
  readonly count: () => number | Promise<number>;
  /** A sandbox of the same account that is not ours. Returns whether it is still there and runs. */
  readonly makeForeign: () => Promise<() => Promise<boolean>>;
  /** How many sandboxes the service gives in one page. */
  readonly setPageSize: (size: number) => void;
  /** From now on the service begins deletions without finishing them, or no longer. Absent: it has no such state. */
  readonly stickDeleting?: ((isStuck: boolean) => void) | undefined;
  readonly defaults?: Partial<SandboxSpec> | undefined;
}

export interface CloudFaultContext extends CloudSubject {
  readonly signal: AbortSignal;
  readonly spec: (overrides?: Partial<SandboxSpec>) => SandboxSpec;
  readonly create: (overrides?: Partial<SandboxSpec>) => Promise<SandboxHandle>;
}

export interface CloudFaultCase {
  readonly name: string;
  /** False: the service has nothing of the kind. */
  readonly applies?: ((subject: CloudSubject) => boolean) | undefined;
  run(context: CloudFaultContext): Promise<void>;
}

/** Runs one case, takes back its faults and destroys what it made. */
export async function runCloudFaultCase(
  testCase: CloudFaultCase,
  subject: CloudSubject,
  signal: AbortSignal,
): Promise<void> {
  const { provider } = subject;
  const names = new Set<string>();
  const spec = (overrides: Partial<SandboxSpec> = {}): SandboxSpec => {
    const id = randomUUID().replaceAll('-', '').slice(0, 16);
    const made: SandboxSpec = {
      name: `sublet-${id}`,
      labels: { 'sublet.installation': `faults-${id}` },
      kind: 'execution',
      network: provider.capabilities.has('network-none') ? 'none' : 'open',
      ephemeral: false,
      ...subject.defaults,
      ...overrides,
    };
    names.add(made.name);
    return made;
  };
  try {
    await testCase.run({ ...subject, signal, spec, create: (overrides) => provider.create(spec(overrides), signal) });
  } finally {
    subject.faults.clear();
    subject.stickDeleting?.(false);
    const cleanUp = AbortSignal.timeout(60_000);
    await Promise.all([...names].map((name) => provider.destroy({ name }, cleanUp)));
  }
}

/** For requests that go on matching as long as the fault is armed. */
export const ALWAYS: number = Number.MAX_SAFE_INTEGER;
