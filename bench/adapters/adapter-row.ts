/** What a row of the comparison is: a service on loopback, and commands that are run in one sandbox of it in two ways. */
import type { ProviderModule, SandboxHandle } from 'sublet/provider';
import { benchContext } from '../provider-context.ts';
import { type StartedService, startService } from './start-service.ts';

export interface AdapterRow {
  readonly id: string;
  open(): Promise<AdapterStage>;
}

export interface AdapterStage {
  readonly runs: readonly AdapterRun[];
  readonly close: () => Promise<void>;
}

export interface AdapterRun {
  readonly what: string;
  /** What the bare SDK is asked for. */
  readonly against: string;
  /** Through the adapter. */
  readonly ours: () => Promise<unknown>;
  /** Through the SDK alone. */
  readonly bare: () => Promise<unknown>;
}

type Served = Pick<StartedService, 'url' | 'apiKey'>;

export interface RowPlan {
  readonly id: string;
  /** The file here that starts it. */
  readonly service: string;
  readonly provider: ProviderModule;
  readonly keyName: string;
  options(served: Served): Record<string, unknown>;
  /** Commands in the sandbox that the adapter has made. */
  runs(sandbox: SandboxHandle, served: Served): Promise<readonly AdapterRun[]>;
}

const signal = new AbortController().signal;

export const COMMAND = 'echo hi';

/**
 * What has to be written around a command where a service answers with one text: streams apart, every byte as it was. It is
 * the part of a run's work that such a service leaves to its callers.
 */
export const BY_HAND: string = `out=$(mktemp) err=$(mktemp)
sh -c '${COMMAND}' >"$out" 2>"$err"; status=$?
base64 "$out"; echo; base64 "$err"
rm -f "$out" "$err"
exit $status`;

export function adapterRow({ id, service, provider, keyName, options, runs }: RowPlan): AdapterRow {
  return {
    id,
    async open() {
      const { end, ...served } = await startService(service);
      const secret = (name: string): string | undefined => (name === keyName ? served.apiKey : undefined);
      const opened = await provider.open({ ...benchContext('', options(served)), secret });
      const spec = { name: 'sublet-bench', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
      const sandbox = await opened.create(spec, signal);
      return {
        runs: await runs(sandbox, served),
        close: async () => {
          await opened.destroy(sandbox.ref, signal);
          await opened.close();
          await end();
        },
      };
    },
  };
}
