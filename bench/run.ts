/**
 * Runs the named subjects, or all: `npm run bench -- create commands`. Each runs in a process of its own, so that none
 * inherits another's heap. `--json` and `--markdown` print the results for programs and pages.
 */
import { fork } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { toCells, type Result, type Subject } from './figure.ts';
import { describeMachine, toAlignedLine, toAlignedTable, toJson, toMachineLine, toMarkdown } from './report.ts';

const ENDING = '.bench.ts';
const LINE_WIDTHS = [44, 12, 8, 8, 12, 40, 8, 8, 12, 4];

if (process.send === undefined) await runAll();
else await runOne(process.argv[2] ?? '');

async function runAll(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'boolean' }, markdown: { type: 'boolean' } },
    allowPositionals: true,
  });
  const known = await subjectNames();
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`No subject ${unknown.join(', ')}. Subjects: ${known.join(', ')}`);
  const machine = await describeMachine();
  const results: Result[] = [];
  // Standard output is for the table alone.
  console.error(toMachineLine(machine));
  for (const name of positionals.length > 0 ? positionals : known) {
    for (const result of await measureApart(name).catch((error: Error) => failed(name, error))) {
      results.push(result);
      console.error(toAlignedLine(toCells(result), LINE_WIDTHS));
    }
  }
  if (values.json === true) console.log(toJson(machine, results));
  else console.log(values.markdown === true ? toMarkdown(machine, results) : `\n${toAlignedTable(results)}`);
}

/** The others are measured all the same. */
function failed(name: string, error: Error): readonly Result[] {
  process.exitCode = 1;
  return [{ name, reason: error.message }];
}

async function runOne(name: string): Promise<void> {
  const { measure } = (await import(`./${name}${ENDING}`)) as { readonly measure: Subject };
  process.send?.(await measure());
  process.disconnect();
}

function measureApart(name: string): Promise<readonly Result[]> {
  const child = fork(path.join(import.meta.dirname, 'run.ts'), [name], { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    let results: readonly Result[] | undefined;
    child.once('message', (message) => (results = message as readonly Result[]));
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 && results !== undefined ? resolve(results) : reject(new Error(`${name} ended with status ${code}`)),
    );
  });
}

async function subjectNames(): Promise<readonly string[]> {
  const files = await readdir(import.meta.dirname);
  return files
    .filter((file) => file.endsWith(ENDING))
    .map((file) => file.slice(0, -ENDING.length))
    .toSorted();
}
