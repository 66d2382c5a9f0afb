/** Names the files and tests that have been running for very long: a run that hangs would otherwise say nothing. */
import { writeSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

const STDOUT = 1;
const LOOK_MS = 60_000;
const LONG_MS = 300_000;

interface Running {
  readonly since: number;
  test?: string;
}

export class StandstillReporter implements Reporter {
  readonly #running = new Map<string, Running>();

  onInit(): void {
    setInterval(() => this.#look(), LOOK_MS).unref();
  }

  onTestModuleStart({ moduleId }: TestModule): void {
    this.#running.set(moduleId, { since: Date.now() });
  }

  onTestCaseReady({ module, fullName }: TestCase): void {
    const running = this.#running.get(module.moduleId);
    if (running !== undefined) running.test = fullName;
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    this.#running.delete(moduleId);
  }

  #look(): void {
    for (const [moduleId, { since, test }] of this.#running) {
      const ms = Date.now() - since;
      if (ms < LONG_MS) continue;
      writeSync(STDOUT, `running for ${Math.round(ms / 60_000)} min: ${moduleId} > ${test ?? 'no test has begun'}\n`);
    }
  }
}

export default StandstillReporter;
