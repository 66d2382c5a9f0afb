/** A message of several lines where there is room for one: a table's cell, an item of a list. */
export function inOneLine(text: string): string {
  return text
    .split(/\s*\n\s*/)
    .join('; ')
    .replaceAll(':; ', ': ')
    .replaceAll('.; ', '. ');
}
