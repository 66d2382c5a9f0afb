/** What a case of the store contract is. */
import type { Store } from '../../store/store.ts';

/** A fresh, empty store for one case. */
export interface StoreSubject {
  readonly store: Store;
  /** Another handle on the same rows, as a second process would open. Whoever runs the case closes it. */
  readonly openAgain: () => Promise<Store>;
}

export interface StoreContractCase {
  readonly name: string;
  readonly run: (subject: StoreSubject) => Promise<void>;
}
