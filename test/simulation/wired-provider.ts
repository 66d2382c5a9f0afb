/** A provider as a process reaches it: over the wire, with whatever the climate does to the call. */
import { SubletError } from '../../src/core/errors.ts';
import type { ListedSandbox, SandboxHandle, SandboxProvider, SandboxRef } from '../../src/provider/provider.ts';
import type { FaultyOperation } from '../../src/testing/faulty-provider-world.ts';
import type { Simulation } from './simulation.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import { wireHandle } from './wired-handle.ts';
import { ask } from './wire.ts';

export function wireProvider(
  simulation: Simulation,
  process: SimulatedProcess,
  provider: SandboxProvider,
): SandboxProvider {
  const call = <T>(
    what: FaultyOperation,
    about: string,
    signal: AbortSignal,
    perform: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> =>
    ask(simulation, process, {
      to: 'provider',
      what,
      about,
      signal,
      perform: (inner) => {
        const oddity = simulation.climate.oddityOf(what);
        if (oddity !== undefined) {
          simulation.trace.note('        ', () => `the provider has ${what} go ${oddity.type}`);
          simulation.cloud.plan(what, oddity);
        }
        return perform(inner ?? signal);
      },
      refusal: () => new SubletError('PROVIDER_UNAVAILABLE', `The provider failed at ${what}.`),
    });
  const wired = (handle: SandboxHandle): SandboxHandle => wireHandle(simulation, process, handle);
  const on = <A extends unknown[], T>(
    what: FaultyOperation,
    method: ((ref: SandboxRef, ...rest: A) => Promise<T>) | undefined,
    signalAt: number,
  ): ((ref: SandboxRef, ...rest: A) => Promise<T>) | undefined =>
    method === undefined
      ? undefined
      : (ref, ...rest) =>
          call(what, ref.name, rest[signalAt] as AbortSignal, (inner) =>
            method(ref, ...(rest.with(signalAt, inner) as A)),
          );
  const optional = {
    pause: on('pause', provider.pause, 0),
    resume: on('resume', provider.resume, 0),
    stop: on('stop', provider.stop, 0),
    start: on('start', provider.start, 0),
    setNetwork: on('setNetwork', provider.setNetwork, 1),
    reset: on('reset', provider.reset, 0),
    metrics: on('metrics', provider.metrics, 0),
  };
  return {
    id: provider.id,
    capabilities: provider.capabilities,
    create: async (spec, signal) => {
      simulation.laws.createAsked(process, spec);
      return wired(await call('create', spec.name, signal, (inner) => provider.create(spec, inner)));
    },
    attach: async (ref, signal, options) => {
      const handle = await call('attach', ref.name, signal, (inner) => provider.attach(ref, inner, options));
      if (handle === undefined) simulation.laws.truth.tellGone(ref.name);
      return handle && wired(handle);
    },
    destroy: (ref, signal) => call('destroy', ref.name, signal, (inner) => provider.destroy(ref, inner)),
    list: (filter, signal) => pages(provider.list(filter, signal), (next) => call('list', '', signal, next)),
    close: () => provider.close(),
    ...Object.fromEntries(Object.entries(optional).filter(([, method]) => method !== undefined)),
  };
}

/** Each step of the iteration is a call of its own: a death may fall between two pages. */
async function* pages(
  listed: AsyncIterable<ListedSandbox>,
  call: (next: () => Promise<IteratorResult<ListedSandbox>>) => Promise<IteratorResult<ListedSandbox>>,
): AsyncIterable<ListedSandbox> {
  const iterator = listed[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await call(() => iterator.next());
    if (done === true) return;
    yield value;
  }
}
