/** An object as `name  value` lines; nested objects are indented. */
import { printable } from './printable.ts';

export function renderFields(value: object, indent = ''): string {
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries
    .map(([name, field]) => {
      if (typeof field === 'object' && field !== null && !Array.isArray(field)) {
        return `${indent}${name}\n${renderFields(field as object, `${indent}  `)}`;
      }
      return `${indent}${name.padEnd(width)}  ${printable(fieldText(name, field))}\n`;
    })
    .join('');
}

function fieldText(name: string, field: unknown): string {
  if (typeof field === 'number' && (name === 'at' || name.endsWith('At'))) return new Date(field).toISOString();
  return typeof field === 'string' ? field : (JSON.stringify(field) ?? '');
}
