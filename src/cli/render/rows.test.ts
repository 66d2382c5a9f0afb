import { describe, expect, it } from 'vitest';
import { createColours } from './colours.ts';
import { renderRows, type Column } from './rows.ts';

interface Row {
  readonly id: string;
  readonly note: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'ID', value: (row) => row.id },
  { title: 'NOTE', value: (row) => row.note, shrinks: true },
];

const plain = createColours(false);

describe('renderRows', () => {
  it('aligns columns and leaves no space at the end of a line', async () => {
    const rows = [
      { id: 'a', note: 'first' },
      { id: 'longer', note: 'x' },
    ];
    expect(await renderRows(rows, COLUMNS, { colours: plain })).toBe('ID      NOTE\na       first\nlonger  x\n');
  });

  it('shows an empty cell as a dash', async () => {
    expect(await renderRows([{ id: 'a', note: '' }], COLUMNS, { colours: plain })).toContain('a   -');
  });

  it('cuts the shrinking column to the terminal and marks the cut', async () => {
    const text = await renderRows([{ id: 'abc', note: 'a very long note indeed' }], COLUMNS, {
      width: 16,
      colours: plain,
    });
    expect(text.split('\n')).toEqual(['ID   NOTE', 'abc  a very lon…', '']);
  });

  it('keeps a column of 8 when the terminal is hopelessly narrow', async () => {
    const text = await renderRows([{ id: 'abc', note: 'a very long note' }], COLUMNS, { width: 3, colours: plain });
    expect(text).toContain('abc  a very …');
  });

  it('counts wide and combining characters as the terminal shows them', async () => {
    const rows = [
      { id: '日本', note: 'wide' },
      { id: 'e\u0301', note: 'combined' },
      { id: '👩‍👩‍👧', note: 'joined' },
    ];
    const lines = (await renderRows(rows, COLUMNS, { colours: plain })).split('\n');
    expect(lines.slice(1, 4)).toEqual(['日本  wide', 'e\u0301     combined', '👩‍👩‍👧    joined']);
  });

  it('never cuts a wide character in half', async () => {
    const text = await renderRows([{ id: 'a', note: '日本語日本語日本語' }], COLUMNS, { width: 12, colours: plain });
    expect(text).toContain('a   日本語…');
  });

  it('does not let a cell drive the terminal or break the line', async () => {
    const text = await renderRows([{ id: '\u001b[2J', note: 'two\nlines\u202e' }], COLUMNS, { colours: plain });
    expect(text.split('\n')[1]).toBe('\\x1b[2J  two lines\\u202e');
  });

  it('paints a cell without moving its neighbours', async () => {
    const columns: readonly Column<Row>[] = [
      { title: 'ID', value: (row) => row.id, colour: () => 'good' },
      ...COLUMNS.slice(1),
    ];
    const text = await renderRows([{ id: 'a', note: 'x' }], columns, { colours: createColours(true) });
    expect(text.split('\n')[1]).toBe('\u001b[32ma\u001b[39m   x');
  });
});
