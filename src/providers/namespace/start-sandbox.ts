/** Turns blank namespaces into a running sandbox: mounts, first process, resident shell. */
import type { Clock } from '../../core/clock.ts';
import { OnlyShell } from './armed-shell.ts';
import type { Blank } from './blank.ts';
import type { MountPlan } from './mount-plan.ts';
import type { Channel } from './channel.ts';
import { ResidentShell } from './resident-shell.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import type { Life, Setup } from './setup.ts';

/** What the setup must find in place. */
export interface Prepared {
  readonly mountTable: string;
  readonly plan: MountPlan;
  readonly limits: string;
  /** Its resident's pipes are made, unless one command is expected. */
  readonly channel: Channel;
}

export interface StartPlan {
  readonly life: Life;
  readonly prepared: Prepared;
  /** Where the first process puts itself into its control groups. */
  readonly doors: readonly string[];
  readonly clock: Clock;
  /** Puts the first process under its limits: what it starts inherits them. */
  confine(): Promise<void>;
  /** Records the processes and gives them a network. Called after `confine`; no command runs before it resolves. */
  record(): Promise<void>;
  /** Called when the setup has all it needs to mount and to drop its privileges. */
  readonly onTold?: (() => void) | undefined;
}

/** What waits inside for commands: one for any number, or one for the first. */
export type FirstShell = ResidentShell | OnlyShell;

export interface StartedSandbox {
  readonly record: SandboxRecord;
  readonly shell: FirstShell;
  readonly setup: Setup;
}

/** Throws when any step fails; the caller destroys what there is. */
export async function startSandbox(blank: Blank, plan: StartPlan, signal: AbortSignal): Promise<FirstShell> {
  const { setup } = blank;
  let only: OnlyShell | undefined;
  const onAbort = (): void => setup.abort(signal);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    const { mountTable, limits, channel } = plan.prepared;
    const { target } = plan.prepared.plan;
    setup.lifeline.write(`${[mountTable, target, limits, plan.doors.join(' '), plan.life].join('\n')}\n`);
    plan.onTold?.();
    channel.prepareSlot();
    await Promise.race([plan.confine(), setup.ended]);
    const recorded = Promise.race([plan.record(), setup.ended]);
    recorded.catch(() => undefined);
    // What would outlive this process has to be found by the next. What ends with it need not wait.
    if (plan.life === 'free') await recorded;
    // Its shell opens these pipes by itself, at once.
    if (plan.life === 'once') only = new OnlyShell(await channel.openSlot(), setup, plan.clock);
    setup.lifeline.write('confined\n');
    const first = only ?? (await openResident(blank, channel, plan.clock));
    await setup.line('c');
    await setup.hideHost();
    await recorded;
    setup.letGo(plan.life);
    return first;
  } catch (cause) {
    only?.close();
    await plan.prepared.channel.discardSlot();
    throw cause;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function openResident({ setup }: Blank, channel: Channel, clock: Clock): Promise<ResidentShell> {
  const resident = await ResidentShell.open(channel, () => setup.line('r'), clock);
  resident.warm();
  return resident;
}
