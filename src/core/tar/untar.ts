/** Reads a tar stream: ustar, pax and GNU long names. It only reads; what is done with an entry is the caller's. */
import { SubletError } from '../errors.ts';
import { ByteReader } from './byte-reader.ts';

export type TarEntryKind = 'file' | 'directory' | 'link' | 'hard-link' | 'other';

export interface TarEntry {
  readonly name: string;
  readonly kind: TarEntryKind;
  readonly mode: number;
  readonly sizeBytes: number;
  /** Epoch seconds. */
  readonly modifiedSeconds: number;
  readonly linkName: string;
  /** Empty unless it is a file. What the caller does not read is skipped. */
  readonly body: AsyncIterable<Uint8Array>;
}

const BLOCK = 512;
const MAX_HEADER_BYTES = 1024 * 1024;
const KINDS: Readonly<Record<string, TarEntryKind>> = {
  '\0': 'file',
  '0': 'file',
  '7': 'file',
  '1': 'hard-link',
  '2': 'link',
  '5': 'directory',
};

/** How names are read: as text, or each byte as it is. */
export type NameEncoding = 'utf8' | 'latin1';

/** FILE_FAILED when the stream is not tar or ends in the middle of an entry. */
export async function* untar(
  source: AsyncIterable<Uint8Array>,
  encoding: NameEncoding = 'utf8',
): AsyncGenerator<TarEntry, void, void> {
  const reader = new ByteReader(source);
  let extended: Readonly<Record<string, string>> = {};
  for (let blocks = 0; ; blocks++) {
    const header = await reader.read(BLOCK);
    // Even an archive of nothing has closing blocks: no bytes at all means that they were lost.
    if (header.length === 0 && blocks === 0) throw damaged();
    // Also at the end of the stream: some writers leave out the closing blocks.
    if (header.every((byte) => byte === 0)) return;
    if (header.length < BLOCK || !isHeader(header)) throw damaged();
    const type = String.fromCharCode(header[156] ?? 0);
    const size = extended['size'] === undefined ? number(header, 124, 12) : Number(extended['size']);
    if (!Number.isSafeInteger(size) || size < 0) throw damaged();
    if (type === 'x' || type === 'L' || type === 'K') {
      extended = { ...extended, ...(await readExtension(reader, type, size, encoding)) };
      continue;
    }
    const kind = KINDS[type] ?? 'other';
    const left = { bytes: size };
    // A global header and kinds unknown to us have bodies too; they are skipped like an unread file.
    if (type !== 'g') yield toEntry(header, kind, size, extended, body(reader, left), encoding);
    await reader.skip(left.bytes);
    await reader.skip(padding(size));
    if (type !== 'g') extended = {};
  }
}

function toEntry(
  header: Uint8Array,
  kind: TarEntryKind,
  sizeBytes: number,
  extended: Readonly<Record<string, string>>,
  content: AsyncIterable<Uint8Array>,
  encoding: NameEncoding,
): TarEntry {
  const isUstar = text(header, 257, 5) === 'ustar';
  const prefix = isUstar && text(header, 257, 6) === 'ustar' ? text(header, 345, 155, encoding) : '';
  const shortName = text(header, 0, 100, encoding);
  return {
    name: extended['path'] ?? (prefix === '' ? shortName : `${prefix}/${shortName}`),
    kind,
    mode: number(header, 100, 8),
    sizeBytes,
    modifiedSeconds: number(header, 136, 12),
    linkName: extended['linkpath'] ?? text(header, 157, 100, encoding),
    body: content,
  };
}

async function* body(reader: ByteReader, left: { bytes: number }): AsyncGenerator<Uint8Array, void, void> {
  while (left.bytes > 0) {
    const chunk = await reader.readSome(left.bytes);
    if (chunk.length === 0) throw damaged();
    left.bytes -= chunk.length;
    yield chunk;
  }
}

async function readExtension(
  reader: ByteReader,
  type: 'x' | 'L' | 'K',
  size: number,
  encoding: NameEncoding,
): Promise<Readonly<Record<string, string>>> {
  if (size > MAX_HEADER_BYTES) throw damaged();
  const data = Buffer.from(await reader.read(size));
  await reader.skip(padding(size));
  if (data.length < size) throw damaged();
  if (type === 'x') return parsePax(data, encoding);
  const value = data.toString(encoding).replace(/\0.*$/s, '');
  return type === 'L' ? { path: value } : { linkpath: value };
}

// Records are "LENGTH KEY=VALUE\n", the length counting the whole record in bytes.
function parsePax(data: Buffer, encoding: NameEncoding): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (let at = 0; at < data.length;) {
    const space = data.indexOf(0x20, at);
    const length = Number(data.toString('latin1', at, space));
    if (space === -1 || !Number.isSafeInteger(length) || length <= space - at || at + length > data.length)
      throw damaged();
    const record = data.toString(encoding, space + 1, at + length - 1);
    const equals = record.indexOf('=');
    if (['path', 'linkpath', 'size'].includes(record.slice(0, equals)))
      values[record.slice(0, equals)] = record.slice(equals + 1);
    at += length;
  }
  return values;
}

// The sum of all bytes with the checksum's own field as spaces.
function isHeader(header: Uint8Array): boolean {
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0);
  return sum === number(header, 148, 8);
}

function text(header: Uint8Array, offset: number, length: number, encoding: NameEncoding = 'utf8'): string {
  return Buffer.from(header.subarray(offset, offset + length))
    .toString(encoding)
    .replace(/\0.*$/s, '');
}

// Octal, or base 256 when the first bit is set.
function number(header: Uint8Array, offset: number, length: number): number {
  const field = header.subarray(offset, offset + length);
  if (((field[0] ?? 0) & 0x80) !== 0) return field.subarray(1).reduce((total, byte) => total * 256 + byte, 0);
  return Number.parseInt(text(field, 0, length).trim() || '0', 8);
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

function damaged(): SubletError {
  return new SubletError('FILE_FAILED', 'The archive from the sandbox is damaged or was cut short.');
}
