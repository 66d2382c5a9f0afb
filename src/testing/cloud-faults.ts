/** What goes wrong between an adapter and its service, as data: every cloud adapter passes every case. */
import { authCases } from './cloud-faults/auth-cases.ts';
import type { CloudFaultCase } from './cloud-faults/cloud-fault-case.ts';
import { certaintyCases } from './cloud-faults/certainty-cases.ts';
import { createCases } from './cloud-faults/create-cases.ts';
import { listCases } from './cloud-faults/list-cases.ts';
import { refusalCases } from './cloud-faults/refusal-cases.ts';

export type { CloudFaultCase, CloudOperation, CloudSubject } from './cloud-faults/cloud-fault-case.ts';
export { runCloudFaultCase } from './cloud-faults/cloud-fault-case.ts';

export const cloudFaults: readonly CloudFaultCase[] = [
  ...authCases,
  ...certaintyCases,
  ...refusalCases,
  ...createCases,
  ...listCases,
];
