/**
 * A box has a name and no labels, so its name carries them: `sublet-x.i….s.o….k….n0`. Names have letters, digits, dots, dashes and
 * underscores, 128 at most; with the labels of ours they have about a hundred. Pure.
 */
import { SubletError } from '../../core/errors.ts';
import type { NetworkLevel } from '../../core/network.ts';
import { LABEL, type Labels } from '../../core/spec.ts';

export interface BoxIdentity {
  readonly name: string;
  readonly labels: Labels;
  /** A server does not tell it. */
  readonly network: NetworkLevel;
}

const MAX_LENGTH = 128;
const NETWORKS: readonly NetworkLevel[] = ['none', 'allowlist', 'open'];
/** Labels of ours have a letter, and no beginning that all values share. */
const KNOWN: readonly { readonly letter: string; readonly label: string; readonly prefix: string }[] = [
  { letter: 'i', label: LABEL.installation, prefix: 'ins_' },
  { letter: 's', label: LABEL.sandbox, prefix: 'sbx_' },
  { letter: 'o', label: LABEL.owner, prefix: 'own_' },
  { letter: 'k', label: LABEL.keyHash, prefix: '' },
];
const OTHER = 'x';
const NAME = /^sublet-[A-Za-z0-9-]+$/;

/** CREATE_FAILED when it would be too long for a name. */
export function toBoxName({ name, labels, network }: BoxIdentity): string {
  const parts = Object.entries(labels).map(([label, value]) => {
    const known = KNOWN.find((each) => each.label === label);
    if (known === undefined) return `${OTHER}${escaped(label)}.${escaped(value)}`;
    const { letter, prefix } = known;
    if (value === `${prefix}${restOf(name)}`) return letter;
    const rest = value.slice(prefix.length);
    return prefix !== '' && value.startsWith(prefix) && rest !== ''
      ? `${letter}${escaped(rest)}`
      : `${letter.toUpperCase()}${escaped(value)}`;
  });
  const full = [name, ...parts, `n${NETWORKS.indexOf(network)}`].join('.');
  if (NAME.test(name) && full.length <= MAX_LENGTH) return full;
  throw new SubletError('CREATE_FAILED', `The labels of "${name}" do not fit into the name of a box.`, {
    hint: `Give it fewer or shorter labels: BoxLite has none, and a name has ${MAX_LENGTH} characters.`,
  });
}

/** undefined: it is no name of ours. */
export function fromBoxName(full: string | undefined): BoxIdentity | undefined {
  const [name = '', ...parts] = (full ?? '').split('.');
  const network = NETWORKS[Number(/^n(\d)$/.exec(parts.pop() ?? '')?.[1] ?? Number.NaN)];
  if (network === undefined || !NAME.test(name)) return undefined;
  const labels: Record<string, string> = {};
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const [letter = '', rest] = [part[0], unescaped(part.slice(1))];
    const known = KNOWN.find((each) => each.letter === letter.toLowerCase());
    if (letter === OTHER) labels[rest] = unescaped(parts.shift() ?? '');
    else if (known === undefined) return undefined;
    else if (letter !== known.letter) labels[known.label] = rest;
    else labels[known.label] = `${known.prefix}${rest === '' ? restOf(name) : rest}`;
  }
  return { name, labels, network };
}

/** What a sandbox's name and its id have in common. */
function restOf(name: string): string {
  return name.replace(/^sublet-/, '');
}

function escaped(text: string): string {
  const bytes = Buffer.from(text);
  return [...bytes]
    .map((byte) => {
      const character = String.fromCodePoint(byte);
      return /[A-Za-z0-9-]/.test(character) ? character : `_${byte.toString(16).padStart(2, '0')}`;
    })
    .join('');
}

function unescaped(text: string): string {
  return Buffer.from(
    text.replaceAll(/_([0-9a-f]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16))),
    'latin1',
  ).toString();
}
