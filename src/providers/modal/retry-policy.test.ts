import { describe, expect, it } from 'vitest';
import { modalProtocol } from './modal-protocol.fixture.ts';
import { retryAfterMs } from './retry-policy.ts';

const { RPCStatus, RPCRetryPolicy } = modalProtocol();

function details(typeUrl: string, retryAfterSecs: number): Uint8Array {
  const value = RPCRetryPolicy.encode({ retryAfterSecs }).finish();
  const other = { typeUrl: 'type.googleapis.com/google.rpc.DebugInfo', value: new Uint8Array([10, 1, 120]) };
  return RPCStatus.encode({ code: 8, message: 'slow down', details: [other, { typeUrl, value }] }).finish();
}

describe('the time that Modal asks to wait', () => {
  it('is read from what the SDK itself would write', () => {
    expect(retryAfterMs(details('type.googleapis.com/modal.client.RPCRetryPolicy', 2.5))).toBe(2500);
    expect(retryAfterMs(details('type.googleapis.com/modal.client.RPCRetryPolicy', 0))).toBe(0);
  });

  it('is not known where nothing says it, or what says it is cut short', () => {
    expect(retryAfterMs(details('type.googleapis.com/modal.client.Other', 2))).toBeUndefined();
    expect(retryAfterMs(new Uint8Array())).toBeUndefined();
    const whole = details('type.googleapis.com/modal.client.RPCRetryPolicy', 2);
    for (let length = 1; length < whole.length; length++) {
      expect([undefined, 0, 2000]).toContain(retryAfterMs(whole.subarray(0, length)));
    }
  });
});
