/** A tar archive of one file or directory, written as it is read. */

export interface TarHeader {
  /** Without a slash for a file in the archive's directory. */
  readonly name: string;
  readonly isDirectory?: boolean;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly sizeBytes: number;
  /** Epoch seconds. */
  readonly modifiedSeconds: number;
}

const BLOCK = 512;
const MAX_NAME_BYTES = 100;
/** What eleven octal digits hold. */
const MAX_SIZE = 8 ** 11 - 1;
const MAX_ID = 8 ** 7 - 1;

/** `body` must give exactly `sizeBytes`. */
export async function* tarFile(
  header: TarHeader,
  body: Iterable<Uint8Array> | AsyncIterable<Uint8Array> = [],
): AsyncGenerator<Uint8Array> {
  yield Buffer.concat([extension(header), headerBlock(header, header.isDirectory === true ? '5' : '0')]);
  yield* body;
  // The file's padding and the two blocks that end an archive.
  yield Buffer.alloc(padding(header.sizeBytes) + 2 * BLOCK);
}

/** A pax record for each value that the header has no room for. */
function extension(header: TarHeader): Buffer {
  const records = [
    Buffer.byteLength(header.name) > MAX_NAME_BYTES ? paxRecord('path', header.name) : '',
    header.sizeBytes > MAX_SIZE ? paxRecord('size', String(header.sizeBytes)) : '',
    header.uid > MAX_ID ? paxRecord('uid', String(header.uid)) : '',
    header.gid > MAX_ID ? paxRecord('gid', String(header.gid)) : '',
  ].join('');
  const data = Buffer.from(records);
  if (data.length === 0) return data;
  const block = headerBlock({ ...header, name: 'pax', mode: 0o600, uid: 0, gid: 0, sizeBytes: data.length }, 'x');
  return Buffer.concat([block, data, Buffer.alloc(padding(data.length))]);
}

/** The record's length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  const guess = bytes + String(bytes).length;
  return `${bytes + String(guess).length}${rest}`;
}

function headerBlock(header: TarHeader, type: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(header.name, 0, MAX_NAME_BYTES);
  writeOctal(block, 100, 8, header.mode & 0o7777);
  writeOctal(block, 108, 8, Math.min(header.uid, MAX_ID));
  writeOctal(block, 116, 8, Math.min(header.gid, MAX_ID));
  writeOctal(block, 124, 12, Math.min(header.sizeBytes, MAX_SIZE));
  writeOctal(block, 136, 12, Math.floor(header.modifiedSeconds));
  block.write(type, 156);
  block.write('ustar\x0000', 257);
  // The sum is taken with spaces in its own place.
  block.fill(' ', 148, 156);
  writeOctal(
    block,
    148,
    7,
    block.reduce((sum, byte) => sum + byte, 0),
  );
  return block;
}

function writeOctal(block: Buffer, offset: number, length: number, value: number): void {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset);
}

function padding(bytes: number): number {
  return (BLOCK - (bytes % BLOCK)) % BLOCK;
}
