/** A sandbox for one purpose: made, used and destroyed, whatever happens in between. */
import type { AgentHandle, CodeLanguage, EphemeralRunOptions, SandboxOptions } from '../core/api.ts';
import type { Command, CommandResult, RunOptions } from '../core/commands.ts';
import { SubletError } from '../core/errors.ts';
import type { SandboxSpec } from '../provider/provider.ts';
import { createAgentHandle } from './agent-handle.ts';
import { followSignals } from './deadline.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { choicesOf, makeRouted } from './routing/make-routed.ts';
import { runCode } from './run-code.ts';

/** What is known ahead of a sandbox's use. */
export type EphemeralHints = Pick<SandboxSpec, 'expectsOneCommand'>;

export function runOnce(engine: Engine, command: Command, options: EphemeralRunOptions): Promise<CommandResult> {
  return withEphemeral(
    engine,
    options,
    (sandbox, signal) => {
      options.onStart?.(sandbox.sandboxId);
      return sandbox.commands.run(command, toRunOptions(options, signal));
    },
    { expectsOneCommand: true },
  );
}

export function runCodeOnce(
  engine: Engine,
  language: CodeLanguage,
  code: string,
  options: EphemeralRunOptions,
): Promise<CommandResult> {
  return withEphemeral(engine, options, (sandbox, signal) => {
    options.onStart?.(sandbox.sandboxId);
    return runCode(sandbox, language, code, toRunOptions(options, signal));
  });
}

/**
 * The result of `use`, once the sandbox is destroyed. An abort or a close destroys it under `use`, without waiting for it. A destroy
 * that fails does not spoil the result: it is logged and tried again by the sweep.
 */
export async function withEphemeral<T>(
  engine: Engine,
  options: SandboxOptions,
  use: (sandbox: AgentHandle, signal: AbortSignal) => Promise<T>,
  hints: EphemeralHints = {},
): Promise<T> {
  engine.assertOpen();
  const using = makeAndUse(engine, options, use, hints);
  engine.inBackground(
    'ephemeral run failed',
    using.catch(() => {}),
  );
  return using;
}

async function makeAndUse<T>(
  engine: Engine,
  options: SandboxOptions,
  use: (sandbox: AgentHandle, signal: AbortSignal) => Promise<T>,
  hints: EphemeralHints,
): Promise<T> {
  const kind = 'execution';
  const wanted = await engine.ports.resolve(options, { kind });
  const routed = await makeRouted(engine, {
    choices: choicesOf(wanted),
    request: () => ({ kind, sessionKey: undefined, cause: 'ephemeral run', ...hints }),
    commit: (row) => engine.ports.store.insertSandbox(row),
    signal: options.signal,
  });
  if (routed === undefined) throw new SubletError('INTERNAL', 'An ephemeral sandbox was not made.');
  const { live } = routed;
  // In use for as long as it exists, also while its user thinks.
  const end = live.begin(() => engine.now());
  try {
    return await followSignals([options.signal, engine.closing], (signal) => use(handleOn(engine, live), signal));
  } finally {
    end();
    live.handle.retire?.();
    // It was logged and stays on record; the user's result or error matters more.
    await destroySandbox(engine, live.record, 'ephemeral run is over').catch(() => {});
  }
}

function handleOn(engine: Engine, live: LiveSandbox): AgentHandle {
  return createAgentHandle({ id: () => live.id, live: () => live, now: () => engine.now() }, engine.ports.clock);
}

// `env` is the sandbox's here, and already in it.
function toRunOptions(options: EphemeralRunOptions, signal: AbortSignal): RunOptions {
  const { cwd, stdin, timeoutMs, maxOutputBytes, onStdout, onStderr } = options;
  return { cwd, stdin, timeoutMs, maxOutputBytes, onStdout, onStderr, signal };
}
