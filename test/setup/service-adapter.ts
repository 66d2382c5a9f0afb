/** The suite of an adapter of a service: the contract and the faults through the real SDK, against a server on loopback. */
import { setMaxListeners } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Capability } from '../../src/provider/capabilities.ts';
import type { ProviderContext, ProviderModule } from '../../src/provider/define-provider.ts';
import type { SandboxProvider } from '../../src/provider/provider.ts';
import { cloudFaults, type CloudSubject, runCloudFaultCase } from '../../src/testing/cloud-faults.ts';
import type { BackingSandboxes } from '../../src/testing/loopback/backing-sandboxes.ts';
import {
  missingCapabilities,
  type ProviderCase,
  providerContract,
  runProviderCase,
} from '../../src/testing/provider-contract.ts';
import { requirement } from './requirements.ts';
import { providerContext } from './serve-namespaces.ts';

/** What of a `CloudSubject` the provider and `sandboxes` do not tell. */
type ServiceFacts = Pick<CloudSubject, 'faults' | 'matches' | 'refusal' | 'gone'> & Partial<CloudSubject>;

export interface ServiceAdapter<Server> {
  readonly title: string;
  readonly module: ProviderModule;
  /** Starts the service. Called when a machine can have real sandboxes behind it. */
  start(): Promise<{ readonly server: Server; close(): Promise<void> }>;
  /** The key that it takes, by its variable. */
  readonly secrets: Readonly<Record<string, string>>;
  /** One that it does not take, in the same form. */
  readonly wrongKey?: string;
  options(server: Server): Readonly<Record<string, unknown>>;
  /** What of the module's capabilities these options do not leave. */
  readonly without?: readonly Capability[];
  /** Cases of the contract that are run here; absent: all that its capabilities allow. */
  readonly cases?: (testCase: ProviderCase) => boolean;
  /** What is behind the server: `count`, `makeForeign`, `setPageSize`, `stickDeleting` are then known. */
  sandboxes?(server: Server): BackingSandboxes;
  /** The service and how it fails. Absent: the faults are run elsewhere. */
  facts?(server: Server): ServiceFacts;
  /** A removal is over when it is answered: none is ever stuck. */
  readonly removesAtOnce?: boolean;
  /** What else is to be shown of it. */
  readonly more?: (subject: AdapterSubject<Server>) => void;
}

/** Within a test. */
export interface AdapterSubject<Server> {
  readonly provider: SandboxProvider;
  readonly server: Server;
  context(options?: Readonly<Record<string, unknown>>, secrets?: Readonly<Record<string, string>>): ProviderContext;
}

const isThere = await requirement('namespace');
/** Labels of what is not ours and stays. */
const FOREIGN = { team: 'other' };

export function describeServiceAdapter<Server>(adapter: ServiceAdapter<Server>): void {
  const { module, secrets: key, without = [] } = adapter;
  // A case of many small files is some hundred calls, each of several processes.
  vi.setConfig({ testTimeout: 240_000 });

  describe.runIf(isThere)(adapter.title, () => {
    let service: Awaited<ReturnType<typeof adapter.start>>;
    let provider: SandboxProvider;
    const subject: AdapterSubject<Server> = {
      get provider() {
        return provider;
      },
      get server() {
        return service.server;
      },
      context: (options = {}, secrets = key) =>
        providerContext({ ...adapter.options(service.server), ...options }, secrets),
    };

    beforeAll(async () => {
      service = await adapter.start();
      provider = await module.open(subject.context());
    });
    // Cases ask for many things at once, and all of them follow the test's own signal.
    beforeEach(({ signal }) => setMaxListeners(0, signal));
    afterEach(() => adapter.facts?.(service.server).faults.clear());
    afterAll(async () => {
      await provider?.close();
      await service?.close();
    });

    const claims = { capabilities: new Set(module.capabilities.filter((each) => !without.includes(each))) };

    for (const testCase of providerContract.filter(adapter.cases ?? (() => true))) {
      if (missingCapabilities(testCase, claims).length > 0) continue;
      it(`keeps the contract: ${testCase.name}`, ({ signal }) =>
        runProviderCase(testCase, { provider, signal, secondProvider: () => module.open(subject.context()) }));
    }

    it('claims what its options leave of its module, and no more', () => {
      expect(new Set(provider.capabilities)).toEqual(claims.capabilities);
    });

    for (const testCase of adapter.facts === undefined ? [] : cloudFaults) {
      if (testCase.applies !== undefined && adapter.removesAtOnce === true) continue;
      it(`when the service fails: ${testCase.name}`, ({ signal }) =>
        runCloudFaultCase(testCase, toCloudSubject(adapter, subject), signal));
    }

    adapter.more?.(subject);

    if (adapter.sandboxes === undefined) return;
    it('leaves nothing at the service', () => {
      const left = adapter.sandboxes?.(service.server).all() ?? [];
      expect(left.filter(({ labels }) => labels['team'] !== FOREIGN.team)).toEqual([]);
    });
  });
}

function toCloudSubject<Server>(adapter: ServiceAdapter<Server>, subject: AdapterSubject<Server>): CloudSubject {
  const wrong = Object.fromEntries(
    Object.entries(adapter.secrets).map(([name]) => [name, adapter.wrongKey ?? 'wrong']),
  );
  const withWrongKey = (): Promise<SandboxProvider> => adapter.module.open(subject.context({}, wrong));
  const behind = adapter.sandboxes?.(subject.server);
  return {
    provider: subject.provider,
    withWrongKey,
    ...(behind === undefined ? {} : factsOf(behind)),
    ...adapter.facts?.(subject.server),
  } as CloudSubject;
}

function factsOf(sandboxes: BackingSandboxes): Omit<CloudSubject, keyof ServiceFacts> & Partial<CloudSubject> {
  return {
    count: () => sandboxes.size,
    makeForeign: async () => {
      const { id } = await sandboxes.create({ name: `foreign-${Math.random()}`, labels: FOREIGN });
      return async () => sandboxes.get(id)?.state === 'running';
    },
    setPageSize: (size: number) => {
      sandboxes.pageSize = size;
    },
    stickDeleting: (isStuck: boolean) => {
      sandboxes.isDeletingStuck = isStuck;
    },
  };
}
