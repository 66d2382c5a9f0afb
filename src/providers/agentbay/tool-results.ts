/** What the tools of a session answer. Pure. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxMetrics } from '../../core/spec.ts';
import type { ShellAnswer } from '../../provider/posix/inside/called-process.ts';

export interface ToolResult {
  readonly isError?: boolean;
  readonly content?: readonly { readonly text?: string }[];
}

const MARK = '\u001e';

/**
 * The script with its exit status behind its output: some images answer with the status beside the output, others with the
 * output alone.
 */
export function shellCommand(script: string): string {
  // In a shell of its own: a script may end and clean up behind itself as it likes.
  return `(\n${script}\n)\nprintf '\\036%s' $?`;
}

/** PROVIDER_UNAVAILABLE when the script did not come to its end. */
export function shellAnswerIn(result: ToolResult): ShellAnswer {
  const text = textIn(result);
  const written = stdoutIn(text);
  const at = written.lastIndexOf(MARK);
  const exitCode = Number(written.slice(at + 1));
  if (at !== -1 && Number.isInteger(exitCode)) return { exitCode, output: written.slice(0, at) };
  throw new SubletError('PROVIDER_UNAVAILABLE', `AgentBay: a call did not end well: ${text.slice(0, 300)}`, {
    hint: 'Try again. The image needs a shell of the POSIX kind.',
  });
}

export function metricsIn(result: ToolResult): SandboxMetrics {
  if (result.isError === true) {
    throw new SubletError('UNSUPPORTED', `AgentBay: this image tells no metrics: ${textIn(result).slice(0, 300)}`, {
      hint: 'Use an image that has them, such as linux_latest.',
    });
  }
  const told = JSON.parse(textIn(result)) as Readonly<Record<string, unknown>>;
  const number = (name: string): number | undefined => {
    const value = told[name];
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  };
  return {
    memoryBytes: number('mem_used'),
    memoryLimitBytes: number('mem_total'),
    diskBytes: number('disk_used'),
    diskLimitBytes: number('disk_total'),
  };
}

function textIn({ content }: ToolResult): string {
  return content?.[0]?.text ?? '';
}

function stdoutIn(text: string): string {
  if (!text.startsWith('{')) return text;
  try {
    const { stdout } = JSON.parse(text) as { readonly stdout?: unknown };
    return typeof stdout === 'string' ? stdout : text;
  } catch {
    return text;
  }
}
