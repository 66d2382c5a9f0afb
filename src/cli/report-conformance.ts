/** The provider contract, case by case, as `sublet doctor --conformance` shows it. */
import type { ConformanceResult } from '../conformance.ts';
import type { Installation } from '../open.ts';
import { runConformance } from '../conformance.ts';
import type { CommandContext } from './command.ts';
import { startProgress } from './progress.ts';
import { createColours, type Colour } from './render/colours.ts';
import { toJsonLine } from './render/json-lines.ts';
import { printable } from './render/printable.ts';

const MARKS: Readonly<Record<ConformanceResult['status'], readonly [mark: string, colour: Colour]>> = {
  passed: ['ok  ', 'good'],
  skipped: ['skip', 'dim'],
  failed: ['FAIL', 'bad'],
};

/** 0 when every case that applies passed, else 1. */
export async function reportConformance(
  installation: Installation,
  provider: string,
  json: boolean,
  { terminal, signal }: CommandContext,
): Promise<number> {
  const colours = createColours(terminal.colours('stdout'));
  const counts = { passed: 0, skipped: 0, failed: 0 };
  let progress = startProgress(terminal, `Testing ${provider}`);
  for await (const result of runConformance(installation, provider, signal)) {
    progress.stop();
    counts[result.status] += 1;
    const [mark, colour] = MARKS[result.status];
    const reason = result.reason === undefined ? '' : `: ${printable(result.reason)}`;
    const line = `${colours(colour, mark)}  ${result.name}${reason}\n`;
    await terminal.write('stdout', json ? toJsonLine({ provider, ...result }) : line);
    progress = startProgress(terminal, `Testing ${provider}`);
  }
  progress.stop();
  if (!json) {
    await terminal.write(
      'stdout',
      `${provider}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`,
    );
  }
  return counts.failed === 0 ? 0 : 1;
}
