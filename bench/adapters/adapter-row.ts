/** What a row of the comparison is: a service on loopback, and commands that are run in one sandbox of it in two ways. */
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
