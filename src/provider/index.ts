/** Public: the provider contract. */
export type { Capability } from './capabilities.ts';
export { CAPABILITIES } from './capabilities.ts';
export type { ProviderContext, ProviderLog, ProviderModule, ProviderOptionField } from './define-provider.ts';
export { defineProvider } from './define-provider.ts';
export type {
  AttachOptions,
  Finding,
  ListedSandbox,
  Probe,
  ProviderState,
  ResetReport,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSnapshot,
  SandboxSpec,
} from './provider.ts';
