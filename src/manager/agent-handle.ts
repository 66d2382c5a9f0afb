/** What an agent holds: commands, files, code and a shell. Nothing reachable from it manages the sandbox. */
import type { AgentHandle } from '../core/api.ts';
import type { Clock } from '../core/clock.ts';
import { SHELL } from './call-rules.ts';
import { checkCall } from './check-call.ts';
import { runCode } from './run-code.ts';
import { openShell } from './stateful-shell.ts';
import type { Tracking } from './tracked-sandbox.ts';
import { trackCommands, trackFiles } from './tracked-sandbox.ts';

export function createAgentHandle(tracking: Tracking, clock: Clock): AgentHandle {
  const commands = trackCommands(tracking);
  const files = trackFiles(tracking);
  return Object.freeze<AgentHandle>({
    get sandboxId() {
      return tracking.id();
    },
    commands,
    files,
    runCode: (language, code, options) => runCode({ commands, files }, language, code, options),
    shell: async (options) => {
      checkCall('shell', options, SHELL);
      return openShell(commands, clock, options);
    },
  });
}
