/** The states of a sandbox and the legal moves between them, as data. */

export const SANDBOX_STATES = ['creating', 'running', 'paused', 'stopped', 'destroying', 'destroyed', 'lost'] as const;
export type SandboxState = (typeof SANDBOX_STATES)[number];

const NEXT: Readonly<Record<SandboxState, readonly SandboxState[]>> = {
  creating: ['running', 'destroying'],
  running: ['paused', 'stopped', 'destroying', 'lost'],
  paused: ['running', 'stopped', 'destroying', 'lost'],
  stopped: ['running', 'destroying', 'lost'],
  destroying: ['destroyed'],
  // What the provider reported gone may still have remains (volumes, disk) to destroy.
  lost: ['destroying'],
  // A provider may still have what it said was destroyed.
  destroyed: ['destroying'],
};

export function canMove(from: SandboxState, to: SandboxState): boolean {
  return NEXT[from].includes(to);
}

/** Every state from which `to` may be reached. */
export function statesBefore(to: SandboxState): readonly SandboxState[] {
  return SANDBOX_STATES.filter((from) => canMove(from, to));
}

/** States in which the provider holds something for us. */
export const LIVE_STATES: readonly SandboxState[] = ['creating', 'running', 'paused', 'stopped', 'destroying'];

export function isLive(state: SandboxState): boolean {
  return LIVE_STATES.includes(state);
}
