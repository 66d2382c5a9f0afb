/** The results as a person, a page or a program reads them. */
import { execFile } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { COLUMNS, isLeftOut, ratioOf, toCells, verdictOf, type Result } from './figure.ts';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly user: string;
  readonly commit: string;
  readonly date: string;
}

export async function describeMachine(): Promise<Machine> {
  const commit = await promisify(execFile)('git', ['rev-parse', '--short', 'HEAD']).then(
    ({ stdout }) => stdout.trim(),
    () => 'unknown',
  );
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    user: process.getuid?.() === 0 ? 'root' : 'ordinary user',
    commit,
    date: new Date().toISOString().slice(0, 10),
  };
}

export function toMachineLine(machine: Machine): string {
  const { cpu, cores, memoryGiB, kernel, node, user, commit, date } = machine;
  return `${date}, commit ${commit}: ${cores} × ${cpu}, ${memoryGiB} GiB, Linux ${kernel}, Node ${node}, as ${user}`;
}

/** Lines of equal columns; `widths` keeps lines that are printed one by one under each other. */
export function toAlignedLine(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join('  ')
    .trimEnd();
}

export function toAlignedTable(results: readonly Result[]): string {
  const rows = [COLUMNS, ...results.map(toCells)];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => toAlignedLine(row, widths)).join('\n');
}

export function toMarkdown(machine: Machine, results: readonly Result[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    toMachineLine(machine),
    '',
    row(COLUMNS),
    row(COLUMNS.map(() => '---')),
    ...results.map((result) => row(toCells(result))),
  ].join('\n');
}

export function toJson(machine: Machine, results: readonly Result[]): string {
  const judged = results.map((result) =>
    isLeftOut(result) ? result : { ...result, ratio: ratioOf(result), verdict: verdictOf(result) },
  );
  return JSON.stringify({ machine, results: judged }, undefined, 2);
}
