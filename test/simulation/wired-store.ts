/** A store as a process reaches it: over the wire. */
import { SubletError } from '../../src/core/errors.ts';
import type { Store } from '../../src/store/store.ts';
import type { Simulation } from './simulation.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import { ask } from './wire.ts';

export function wireStore(simulation: Simulation, process: SimulatedProcess, store: Store): Store {
  const wire = <T extends object>(part: T, prefix: string): T =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (name === 'leases' || name === 'ledger' || name === 'pools') return wire(member as object, `${name}.`);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]): Promise<unknown> =>
          ask(simulation, process, {
            to: 'store',
            what: `${prefix}${String(name)}`,
            about: simulation.trace.isOn ? summary(given) : undefined,
            perform: async () => {
              // A row does not say by which place in the queue it was taken.
              const [wish] = given as readonly { readonly ticket?: number }[];
              simulation.taking = name === 'take' ? { ticket: wish?.ticket } : undefined;
              return Reflect.apply(member, target, given) as Promise<unknown>;
            },
            refusal: () => new SubletError('STORE_BUSY', 'The store stayed locked.'),
          });
      },
    });
  return wire(store, '');
}

function summary(given: readonly unknown[]): string {
  return given
    .map((value) => (typeof value === 'object' ? essence(value) : (JSON.stringify(value) ?? 'nothing')))
    .join(' ')
    .slice(0, 160);
}

const ESSENCE = [
  'id',
  'key',
  'to',
  'state',
  'states',
  'cause',
  'from',
  'version',
  'ownerId',
  'dueBy',
  'holder',
  'name',
];

function essence(value: object | null): string {
  if (value === null || Array.isArray(value)) return JSON.stringify(value);
  const shown = Object.entries(value).filter(([name, field]) => ESSENCE.includes(name) && field !== undefined);
  return `{${shown.map(([name, field]) => `${name}: ${String(field)}`).join(', ')}}`;
}
