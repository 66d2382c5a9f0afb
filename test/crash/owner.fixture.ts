/** A process that makes one sandbox and then does as it is told: `owner.fixture.ts '{"next": "wait"}'`. */
import { spawn } from 'node:child_process';
import { open, type ExitAction, type OpenOptions } from 'sublet';

export interface OwnerOrders {
  readonly open?: Pick<OpenOptions, 'watchdog' | 'handleSignals'>;
  readonly onExit?: ExitAction;
  /** An ephemeral sandbox instead of a session's. */
  readonly ephemeral?: boolean;
  /** Use what is there instead of making one first. */
  readonly task?: string;
  readonly next: 'wait' | 'close' | 'end';
}

export interface OwnerAnswer {
  readonly sandboxId: string;
  /** A child of it that lives on. */
  readonly childPid: number | undefined;
}

const { open: options = {}, onExit = 'pause', ephemeral = false, task = 't', next } = orders();
const sublet = await open(options);
if (ephemeral) {
  await sublet.ephemeral({}, async ({ sandboxId, commands }) => {
    await commands.run('true');
    say({ sandboxId, childPid: undefined });
    if (next === 'wait') await new Promise((resolve) => setTimeout(resolve, 600_000));
  });
} else {
  const session = await sublet.session({ user: 'crash', task, policy: { onExit } });
  await session.commands.run('echo kept >note');
  // Whoever waits for a command does not end by itself.
  if (next !== 'end') await session.commands.start(['sleep', '600']);
  // Started after the watchdog: a descriptor that leaks would be in it.
  const child = next === 'wait' ? spawn('sleep', ['600'], { stdio: 'ignore', detached: true }) : undefined;
  child?.unref();
  say({ sandboxId: session.sandboxId, childPid: child?.pid });
}
if (next === 'wait') setInterval(() => undefined, 1_000);
if (next === 'close') await sublet.close();

function orders(): OwnerOrders {
  return JSON.parse(process.argv[2] ?? '{}') as OwnerOrders;
}

function say(answer: OwnerAnswer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
