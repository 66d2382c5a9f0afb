/** Public: what proves an adapter, a store or a manager, and what stands in for time and for providers that misbehave. */
export type { FaultyIdentity, FaultyProcess } from './faulty-machine.ts';
export { FaultyMachine } from './faulty-machine.ts';
export type { FaultyPorts, FaultyPortsOptions, LogLine } from './faulty-provider-ports.ts';
export { createFaultyPorts } from './faulty-provider-ports.ts';
export type { Fault, FaultyBox, FaultyOperation } from './faulty-provider-world.ts';
export { FAULTY_OPERATIONS, FaultyWorld } from './faulty-provider-world.ts';
export type { FaultyProviderOptions } from './faulty-provider.ts';
export { FAULTY_CAPABILITIES, createFaultyProvider } from './faulty-provider.ts';
export type { ManagerContractCase, ManagerNeed, ManagerSubject } from './manager-contract.ts';
export { managerContract } from './manager-contract.ts';
export { ManualClock, settle } from './manual-clock.ts';
export type { ProviderCase, ProviderCaseContext, ProviderSubject } from './provider-contract.ts';
export { missingCapabilities, providerContract, runProviderCase } from './provider-contract.ts';
export type { StoreContractCase, StoreSubject } from './store-contract.ts';
export { storeContract } from './store-contract.ts';
