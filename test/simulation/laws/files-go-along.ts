/** What takes the place of a sandbox that is too open has that one's files before anybody can use it. */
import type { SandboxId } from '../../../src/core/ids.ts';
import type { FaultyBox } from '../../../src/testing/faulty-provider-world.ts';
import type { Law, RowChange, SessionChange } from '../laws.ts';
import type { Simulation } from '../simulation.ts';

const NOTHING: ReadonlySet<string> = new Set();

export class FilesGoAlong implements Law {
  readonly #simulation: Simulation;
  /** By the name of the box. */
  readonly #files = new Map<string, Set<string>>();
  readonly #made = new Set<string>();
  /** Of these a provider made two, and nobody can say which of them was written to. */
  readonly #twice = new Set<string>();
  /** What was there to carry when the key went to this one. */
  readonly #owed = new Map<SandboxId, ReadonlySet<string>>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  boxAdded({ name }: FaultyBox): void {
    if (this.#made.has(name)) this.#twice.add(name);
    this.#made.add(name);
  }

  fileWritten(boxName: string, path: string): void {
    const files = this.#files.get(boxName) ?? new Set();
    this.#files.set(boxName, files.add(path.replace(/^\.\//u, '')));
  }

  sessionChanged({ before, after }: SessionChange): void {
    const [old, next] = [before, after].map((bound) => this.#simulation.sandboxes.get(bound?.sandboxId ?? ''));
    if (old === undefined || next?.cause.startsWith('network tightened') !== true || old.id === next.id) return;
    // What rests is not woken while it is too open: its files stay with it, and its user is told so.
    if (old.state === 'running' && !this.#twice.has(old.name))
      this.#owed.set(next.id, new Set(this.#files.get(old.name)));
  }

  rowChanged({ before, after }: RowChange): void {
    if (before?.state !== 'creating' || after?.state !== 'running') return;
    const there = this.#files.get(after.name) ?? NOTHING;
    const missing = [...(this.#owed.get(after.id) ?? NOTHING)].filter((path) => !there.has(path));
    if (missing.length === 0) return;
    const message = `${after.id} runs without what was to be carried over: ${missing.join(', ')}`;
    this.#simulation.violate('10 loss is honest', message);
  }
}
