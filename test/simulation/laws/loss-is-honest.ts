/** Who had a sandbox that is gone is told: by a refusal where the policy says so, else by a notice with the next one. */
import type { Session } from '../../../src/core/api.ts';
import type { SandboxId } from '../../../src/core/ids.ts';
import type { SessionKey } from '../../../src/core/session-key.ts';
import type { Law, SessionAsked, SessionChange } from '../laws.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';

export class LossIsHonest implements Law {
  readonly #simulation: Simulation;
  readonly #given = new Set<SandboxId>();
  readonly #replaced = new Set<SandboxId>();
  /** Keys whose users had a sandbox that was replaced, and of whom none has been told. */
  readonly #untold = new Set<SessionKey>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  sessionChanged({ key, before, after, by }: SessionChange): void {
    if (before === undefined || after?.sandboxId === before.sandboxId) return;
    const old = this.#simulation.sandboxes.get(before.sandboxId);
    this.#replaced.add(before.sandboxId);
    if (this.#given.has(before.sandboxId)) this.#untold.add(key);
    const next = this.#simulation.sandboxes.get(after?.sandboxId ?? '');
    // Who tightens a network is given another sandbox and told so; who found the loss is refused at the same time.
    if (next?.cause.startsWith('network tightened') === true) return;
    if (old?.state === 'lost' && old.policy.onLost === 'fail')
      this.#violate(`${by?.name ?? 'nobody'} replaces ${old.id} of ${key} without the refusal that its policy demands`);
  }

  sessionGiven(to: SimulatedProcess, session: Session, _asked: SessionAsked): void {
    const { key, sandboxId, created, notices } = session;
    this.#given.add(sandboxId);
    const isTold = notices.some(({ type }) => type === 'replaced');
    if (isTold) this.#untold.delete(key);
    // Who stood still between making it and hearing so has the old one in hand: its first use says that it is gone.
    else if (created && this.#untold.has(key) && !this.#replaced.has(sandboxId))
      this.#violate(`${to.name} is given the new ${sandboxId} for ${key} and not told that the old one is gone`);
  }

  lossTold(key: SessionKey): void {
    this.#untold.delete(key);
  }

  #violate(message: string): void {
    this.#simulation.violate('10 loss is honest', message);
  }
}
