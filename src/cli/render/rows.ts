/** Rows as aligned columns, the way kubectl prints them: a line a row, two spaces between, cut to the terminal. */
import type { Colour, Colours } from './colours.ts';
import { printable } from './printable.ts';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Gives way, down to 8 characters, when the terminal is too narrow. */
  readonly shrinks?: boolean;
  readonly colour?: (row: Row) => Colour | undefined;
}

export interface RowsOptions {
  /** Lines are cut to this; undefined = never. */
  readonly width?: number | undefined;
  readonly colours: Colours;
}

const GAP = 2;
const MIN_SHRUNK = 8;

/** The table with a trailing newline; only its heading when there are no rows. */
export async function renderRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: RowsOptions,
): Promise<string> {
  const cells = rows.map((row) => columns.map((column) => printable(column.value(row)) || '-'));
  const measure = await widthOf(cells);
  const widths = fit(columns, naturalWidths(columns, cells, measure), options.width);
  const heading = line(columns, widths, measure, (index) => columns[index]?.title ?? '');
  const body = rows.map((row, r) =>
    line(
      columns,
      widths,
      measure,
      (index) => cells[r]?.[index] ?? '',
      (text, index) => {
        const colour = columns[index]?.colour?.(row);
        return colour === undefined ? text : options.colours(colour, text);
      },
    ),
  );
  return [options.colours('dim', heading), ...body].join('\n') + '\n';
}

type Measure = (text: string) => number;

// The full measure knows wide and combining characters but costs 30 ms to load: plain text does without.
async function widthOf(cells: readonly (readonly string[])[]): Promise<Measure> {
  if (cells.every((row) => row.every((cell) => /^[\x20-\x7e]*$/.test(cell)))) return (text) => text.length;
  return (await import('string-width')).default;
}

function naturalWidths<Row>(
  columns: readonly Column<Row>[],
  cells: readonly (readonly string[])[],
  measure: Measure,
): number[] {
  return columns.map((column, index) =>
    cells.reduce((widest, row) => Math.max(widest, measure(row[index] ?? '')), column.title.length),
  );
}

// The widest shrinking column loses a character at a time, so that narrow ones stay whole.
function fit<Row>(columns: readonly Column<Row>[], natural: number[], width: number | undefined): readonly number[] {
  if (width === undefined) return natural;
  const widths = [...natural];
  let excess = widths.reduce((sum, each) => sum + each, 0) + GAP * (widths.length - 1) - width;
  while (excess > 0) {
    const index = columns.reduce(
      (best, column, i) => (column.shrinks === true && (widths[i] ?? 0) > (widths[best] ?? MIN_SHRUNK) ? i : best),
      -1,
    );
    if (index === -1) break;
    widths[index] = (widths[index] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

function line<Row>(
  columns: readonly Column<Row>[],
  widths: readonly number[],
  measure: Measure,
  text: (index: number) => string,
  paint: (text: string, index: number) => string = (plain) => plain,
): string {
  const last = columns.length - 1;
  return columns
    .map((_, index) => {
      const width = widths[index] ?? 0;
      const cell = cut(text(index), width, measure);
      const padding = index === last ? '' : ' '.repeat(Math.max(0, width - measure(cell)) + GAP);
      return paint(cell, index) + padding;
    })
    .join('');
}

function cut(text: string, width: number, measure: Measure): string {
  if (measure(text) <= width) return text;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (measure(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
