/** How the gateway says no: in a code, behind a status that says little. */
import { Refusal } from '../../testing/loopback/loopback-server.ts';

export class CodedRefusal extends Refusal {
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(status, message);
    this.code = code;
  }
}

export function refusalBody(refusal: Refusal): Readonly<Record<string, unknown>> {
  const code = refusal instanceof CodedRefusal ? refusal.code : 'InternalError';
  return { RequestId: 'refused', HostId: 'wuyingai.ap-southeast-1.aliyuncs.com', Code: code, Message: refusal.message };
}
