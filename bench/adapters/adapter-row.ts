/** What a row of the comparison is: a service on loopback, and two ways to run one command in one sandbox of it. */
export interface AdapterRow {
  readonly id: string;
  /** What the bare SDK is asked for. */
  readonly against: string;
  open(): Promise<AdapterStage>;
}

export interface AdapterStage {
  /** Through the adapter. */
  readonly ours: () => Promise<unknown>;
  /** Through the SDK alone. */
  readonly bare: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}
