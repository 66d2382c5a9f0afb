/** The store contract as data: what every store must do, checked on a real one. Register each case with any test runner. */
import { counterCases } from './store-contract/counter-cases.ts';
import { eventCases } from './store-contract/event-cases.ts';
import { handOverCases } from './store-contract/hand-over-cases.ts';
import { leaseCases } from './store-contract/lease-cases.ts';
import { ledgerCases } from './store-contract/ledger-cases.ts';
import { lifecycleCases } from './store-contract/lifecycle-cases.ts';
import { moveCases } from './store-contract/move-cases.ts';
import { ownerCases } from './store-contract/owner-cases.ts';
import { poolCases } from './store-contract/pool-cases.ts';
import { queryCases } from './store-contract/query-cases.ts';
import { raceCases } from './store-contract/race-cases.ts';
import { ratchetCases } from './store-contract/ratchet-cases.ts';
import { sandboxCases } from './store-contract/sandbox-cases.ts';
import { sessionCases } from './store-contract/session-cases.ts';
import type { StoreContractCase } from './store-contract/store-case.ts';

export type { StoreContractCase, StoreSubject } from './store-contract/store-case.ts';

export const storeContract: readonly StoreContractCase[] = [
  ...lifecycleCases,
  ...ownerCases,
  ...sandboxCases,
  ...moveCases,
  ...queryCases,
  ...sessionCases,
  ...ratchetCases,
  ...raceCases,
  ...eventCases,
  ...counterCases,
  ...leaseCases,
  ...handOverCases,
  ...ledgerCases,
  ...poolCases,
];
