/** What this process holds of each sandbox: its commands, in which terminals live, and the variables that no service keeps. */

export type Variables = Readonly<Record<string, string>>;

interface Holding<T> {
  readonly id: string;
  readonly value: T;
  env: Variables;
}

export class HeldSandboxes<T> {
  readonly #held = new Map<string, Holding<T>>();

  /** What is held of that very sandbox. Variables that are named replace those from before. */
  find(name: string, id: string | undefined, env?: Variables): T | undefined {
    const held = this.#held.get(name);
    if (held === undefined || (id !== undefined && held.id !== id)) return undefined;
    held.env = env ?? held.env;
    return held.value;
  }

  /** In place of what was held under that name. `make` is given what tells the variables as they are at the time. */
  keep(name: string, id: string, env: Variables | undefined, make: (env: () => Variables) => T): T {
    const held: Holding<T> = { id, value: make(() => held.env), env: env ?? {} };
    this.#held.set(name, held);
    return held.value;
  }

  forget(name: string): void {
    this.#held.delete(name);
  }

  clear(): void {
    this.#held.clear();
  }
}
