/**
 * Where something lives: a machine, and in it a home. What a provider keeps in a home is seen from there only, and machines that
 * were made from one image have one id between them.
 */

export function toHostId(machine: string, home: string | undefined): string {
  return home === undefined ? machine : `${machine}:${home}`;
}

export function machineOf(hostId: string): string {
  return hostId.split(':', 1)[0] ?? '';
}

/** A record that names no home is from before homes were named, and of this one. */
export function isInHome(recorded: string, here: string): boolean {
  return recorded === here || recorded === machineOf(here);
}
