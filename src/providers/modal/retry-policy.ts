/**
 * How long Modal asks to wait, from the trailers of a refusal. The SDK reads the same, but waits by itself for as long as it
 * is told to; here the caller is told.
 */

const POLICY = '/modal.client.RPCRetryPolicy';
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Of `grpc-status-details-bin`: a status whose details are messages with their types. undefined when it says nothing. */
export function retryAfterMs(details: Uint8Array): number | undefined {
  try {
    for (const status of fieldsOf(details)) {
      if (status.number !== 3 || status.bytes === undefined) continue;
      const detail = fieldsOf(status.bytes);
      const type = Buffer.from(detail.find(({ number }) => number === 1)?.bytes ?? []).toString();
      if (!type.endsWith(POLICY)) continue;
      // What is nothing is not written.
      const policy = detail.find(({ number }) => number === 2)?.bytes ?? new Uint8Array();
      const seconds = fieldsOf(policy).find(({ number }) => number === 1)?.float ?? 0;
      return Math.round(seconds * 1000);
    }
  } catch {
    // Not a message of this kind: then it says nothing about time.
  }
  return undefined;
}

interface Field {
  readonly number: number;
  readonly bytes?: Uint8Array;
  readonly float?: number;
}

/** Protobuf's wire format. Throws a RangeError when the bytes end too early. */
function fieldsOf(bytes: Uint8Array): Field[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fields: Field[] = [];
  let at = 0;
  const varint = (): number => {
    for (let value = 0, shift = 1; ; shift *= 128) {
      const byte = view.getUint8(at++);
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const kind = tag % 8;
    if (kind === VARINT) varint();
    else if (kind === FIXED64) at += 8;
    else if (kind === FIXED32) {
      fields.push({ number, float: view.getFloat32(at, true) });
      at += 4;
    } else if (kind === BYTES) {
      const length = varint();
      if (at + length > bytes.length) throw new RangeError('the message is cut short');
      fields.push({ number, bytes: bytes.subarray(at, at + length) });
      at += length;
    } else throw new RangeError(`no such kind of field: ${kind}`);
  }
  return fields;
}
