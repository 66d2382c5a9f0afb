/** How a provider says which host process runs a command inside one of its sandboxes. */
import type { Command } from '../../core/commands.ts';
import type { ProcessTag } from './process-tree.ts';

export interface LaunchRequest {
  readonly command: Command;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Background commands are tagged by their runner; a launch line for `run` sets it itself (`tagScript`). */
  readonly tag: ProcessTag;
  /** Its streams are a terminal, which signals every process of its foreground. */
  readonly onTerminal: boolean;
}

/**
 * `env` is the environment of `file` itself, on the host: a launcher such as `nsenter` must not get the command's variables
 * there, because LD_PRELOAD among them would run a file of the agent's choice outside. Such a launcher gets them as `input`.
 */
export interface LaunchLine {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** A directory of the host. */
  readonly cwd?: string | undefined;
  /** What the launched process can read on descriptor 3: variables and scripts, which must not be in arguments. */
  readonly input?: string | undefined;
}
