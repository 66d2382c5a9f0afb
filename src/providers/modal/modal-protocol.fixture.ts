/**
 * Modal's protocol as the SDK has it. Its package exports no service definitions, so they are taken from its own source: the
 * server then speaks exactly what the version under test speaks.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';

interface MessageType {
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  fromPartial(message: unknown): unknown;
}

export interface MethodDefinition {
  readonly name: string;
  readonly requestType: MessageType;
  readonly responseType: MessageType;
  readonly responseStream: boolean;
}

interface ServiceDefinition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

export interface ModalProtocol {
  readonly ModalClientDefinition: ServiceDefinition;
  readonly TaskCommandRouterDefinition: ServiceDefinition;
  readonly RPCStatus: MessageType;
  readonly RPCRetryPolicy: MessageType;
}

const NAMES = ['ModalClientDefinition', 'TaskCommandRouterDefinition', 'RPCStatus', 'RPCRetryPolicy'];

let loaded: ModalProtocol | undefined;

export function modalProtocol(): ModalProtocol {
  if (loaded !== undefined) return loaded;
  const file = createRequire(import.meta.url).resolve('modal');
  const source = `(exports, require, module) => {${readFileSync(file, 'utf8')}\nexports.protocol = { ${NAMES.join(', ')} };}`;
  const exports = {} as { protocol: ModalProtocol };
  const run = runInThisContext(source, file) as (exports: object, require: NodeJS.Require, module: object) => void;
  // What the package exports replaces this one's `module.exports`; the definitions stay here.
  run(exports, createRequire(file), {});
  return (loaded = exports.protocol);
}
