/** What a service offers that only runs a script and answers with what it wrote. */

export interface ShellAnswer {
  readonly exitCode: number | null;
  readonly output: string;
}

/** Runs a script with `sh` in the sandbox; `env` are variables for it. Rejects with an error of the table. */
export type ShellCall = (script: string, env: Readonly<Record<string, string>>) => Promise<ShellAnswer>;
