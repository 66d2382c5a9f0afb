/** The first set-up of a process may begin before there is a provider: a program that is about to want a sandbox says so. */
import { ownTurn } from '../../provider/posix/own-turn.ts';
import { currentPrivileges, type Privileges } from './privileges.ts';
import { type Setup, spawnSetup } from './setup.ts';

let early: Setup | undefined;

/** It waits to be told what to become, keeps nobody alive, and ends with this process when nobody takes it. */
export function beginEarly(): void {
  early ??= spawnSetup(currentPrivileges(), true);
  early.setReferenced(false);
}

/** The early one for whoever is first, a new one for everybody else. */
export async function nextSetup(privileges: Privileges): Promise<Setup> {
  const begun = early;
  early = undefined;
  begun?.setReferenced(true);
  if (begun !== undefined) return begun;
  await ownTurn();
  return spawnSetup(privileges);
}
