/** Prefixed random ids. Lower-case letters and digits only, so that every provider accepts them in a name. */

declare const brand: unique symbol;
type Branded<Prefix extends string> = string & { readonly [brand]?: Prefix };

export type SandboxId = Branded<'sbx'>;
export type OwnerId = Branded<'own'>;
export type CommandId = Branded<'cmd'>;
export type InstallationId = Branded<'ins'>;

/** Whose a sandbox is that its owner left running on purpose. */
export const NOBODY: OwnerId = '';

interface IdByPrefix {
  readonly sbx: SandboxId;
  readonly own: OwnerId;
  readonly cmd: CommandId;
  readonly ins: InstallationId;
}

// 32 letters without i, l, o and u: nothing that is read as something else.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 16;

/** 80 random bits after the prefix. `random` is injectable so that a simulation is repeatable. */
export function newId<P extends keyof IdByPrefix>(prefix: P, random: RandomBytes = cryptoBytes): IdByPrefix[P] {
  let id = `${prefix}_`;
  for (const byte of random(LENGTH)) id += ALPHABET[byte & 31];
  return id;
}

export type RandomBytes = (length: number) => Uint8Array;

export function cryptoBytes(length: number): Uint8Array {
  return globalThis.crypto.getRandomValues(new Uint8Array(length));
}

/** The name a provider knows a sandbox by: `sublet-` and the id's letters. */
export function providerName(id: SandboxId): string {
  return `sublet-${id.slice(id.indexOf('_') + 1)}`;
}
