/** Turns blank namespaces into a running sandbox: mounts, first process, resident shell. */
import type { Blank } from './blank.ts';
import type { Channel } from './channel.ts';
import { ResidentShell } from './resident-shell.ts';

/** What the setup must find in place. */
export interface Prepared {
  readonly mountTable: string;
  readonly root: string;
  readonly limits: string;
  /** Its resident's pipes are made. */
  readonly channel: Channel;
}

export interface StartPlan {
  /** Ends when this process does. */
  readonly owned: boolean;
  readonly prepared: Prepared;
  /** Records the processes and gives them a network; nothing of the agent runs before it resolves. */
  record(): Promise<void>;
}

/** The resident shell that comes with the sandbox. */
export const FIRST_RESIDENT = 'first';

/** Throws when any step fails; the caller destroys what there is. */
export async function startSandbox(blank: Blank, plan: StartPlan, signal: AbortSignal): Promise<ResidentShell> {
  const { setup } = blank;
  const onAbort = (): void => setup.abort(signal);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    const { mountTable, root, limits, channel } = plan.prepared;
    setup.lifeline.write(`${[mountTable, root, limits, plan.owned ? 'owned' : 'free'].join('\n')}\n`);
    channel.prepareSlot();
    await Promise.race([plan.record(), setup.ended]);
    setup.lifeline.write('recorded\n');
    await setup.line('c');
    setup.mover.write('go\n');
    const resident = await ResidentShell.open(channel, setup.line('r'));
    resident.warm();
    await setup.line('m');
    setup.letGo(plan.owned);
    return resident;
  } catch (cause) {
    await plan.prepared.channel.discardSlot();
    throw cause;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
