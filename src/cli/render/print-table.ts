/** A table on standard output, as wide as the terminal. */
import type { Terminal } from '../terminal.ts';
import { createColours } from './colours.ts';
import { renderRows, type Column } from './rows.ts';

export async function printTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  terminal: Terminal,
): Promise<void> {
  const colours = createColours(terminal.colours('stdout'));
  await terminal.write('stdout', await renderRows(rows, columns, { width: terminal.columns(), colours }));
}
