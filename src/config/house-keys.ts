/** Reads `on_exit` as `onExit`, and null as absent: profiles written for other tools keep working. */
import { isRecord, joinPath, type Problem } from './problems.ts';

/** A copy with keys in house form. The same key in both spellings is a problem. */
export function toHouseKeys(
  raw: Readonly<Record<string, unknown>>,
  path: string,
  problems: Problem[],
): Readonly<Record<string, unknown>> {
  const spelling = new Map<string, string>();
  const entries: [string, unknown][] = [];
  for (const [key, value] of Object.entries(raw)) {
    if (value === null) continue;
    const house = toCamelCase(key);
    const other = spelling.get(house);
    if (other === undefined) entries.push([house, value]);
    else problems.push({ path: joinPath(path, key), message: `says the same as "${other}"; keep one` });
    spelling.set(house, key);
  }
  return Object.fromEntries(entries);
}

/** Also inside `limits`, each of `mounts` and the provider's section; never inside `env`, whose keys are the user's own. */
export function toHouseProfile(
  raw: Readonly<Record<string, unknown>>,
  sections: readonly string[],
  problems: Problem[],
): Readonly<Record<string, unknown>> {
  const nested = new Set(['limits', ...sections]);
  const entries = Object.entries(toHouseKeys(raw, '', problems)).map(([key, value]): [string, unknown] => {
    if (nested.has(key) && isRecord(value)) return [key, toHouseKeys(value, key, problems)];
    if (key !== 'mounts' || !Array.isArray(value)) return [key, value];
    return [
      key,
      value.map((mount: unknown, index) =>
        isRecord(mount) ? toHouseKeys(mount, joinPath(key, index), problems) : mount,
      ),
    ];
  });
  return Object.fromEntries(entries);
}

function toCamelCase(key: string): string {
  return key.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
