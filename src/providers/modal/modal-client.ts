/** The SDK and its client, set to say nothing and to wait for nobody. */
import type { ModalClient, Sandbox } from 'modal';
import { loadSdk } from '../../provider/load-sdk.ts';
import { type ModalConfig, SDK } from './modal-config.ts';

export interface ModalSdk {
  readonly client: ModalClient;
  readonly Sandbox: typeof Sandbox;
}

export async function openModalSdk({ tokenId, tokenSecret, environment, serverUrl }: ModalConfig): Promise<ModalSdk> {
  const { ModalClient: Client, Sandbox: Handle } = await loadSdk('modal', SDK, () => import('modal'));
  // Its words go to the console otherwise, and some have the words of a command in them.
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  // The address is read from the environment alone, while the client is made.
  const before = process.env['MODAL_SERVER_URL'];
  process.env['MODAL_SERVER_URL'] = serverUrl;
  try {
    const client = new Client({
      tokenId,
      tokenSecret,
      ...(environment === undefined ? {} : { environment }),
      // A limit is told to the caller, who knows what else there is to do.
      maxThrottleWaitSecs: 0,
      logger,
    });
    return { client, Sandbox: Handle };
  } finally {
    if (before === undefined) delete process.env['MODAL_SERVER_URL'];
    else process.env['MODAL_SERVER_URL'] = before;
  }
}
