/** Ends the output with `N passed, N failed`, names what passed only at its second try, and fails a full run that skipped. */
import { writeSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

const STDOUT = 1;

/** A skip's note that starts so is no gap: there is nothing to test. */
const NOT_CLAIMED = 'not claimed';

/** How fast-check begins. The second try drew other values: a property that was false once is false. */
const COUNTEREXAMPLE = 'Property failed';

export interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export class SummaryReporter implements Reporter {
  #summary: Summary = { passed: 0, failed: 0, skipped: 0 };

  onInit(): void {
    // At exit, because vitest may still print after its last hook. A run that fails without a failed test says 1.
    process.once('exit', (code) => {
      const failed = code === 0 ? this.#summary.failed : Math.max(1, this.#summary.failed);
      writeSync(STDOUT, `${summaryLine({ ...this.#summary, failed })}\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const lucky = tests.filter((test) => test.diagnostic()?.flaky === true);
    for (const test of lucky)
      writeSync(STDOUT, `passed at the second try: ${test.module.moduleId} > ${test.fullName}: ${firstError(test)}\n`);
    const disproved = lucky.filter((test) => firstError(test).startsWith(COUNTEREXAMPLE));
    const gaps = isFullRun() ? tests.filter((test) => isGap(test)) : [];
    for (const test of gaps) writeSync(STDOUT, `skipped in a full run: ${test.module.moduleId} > ${test.fullName}\n`);
    if (gaps.length + disproved.length > 0) process.exitCode = 1;
    this.#summary = {
      passed: count(tests, 'passed') - disproved.length,
      failed: count(tests, 'failed') + brokenModules(modules) + unhandledErrors.length + gaps.length + disproved.length,
      skipped: count(tests, 'skipped') - gaps.length,
    };
  }
}

export function summaryLine({ passed, failed, skipped }: Summary): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** `SUBLET_TEST_REQUIRE` says that the machine has what the tests need. */
function isFullRun(): boolean {
  return (process.env['SUBLET_TEST_REQUIRE'] ?? '') !== '';
}

function isGap(test: TestCase): boolean {
  const result = test.result();
  return result.state === 'skipped' && result.note?.startsWith(NOT_CLAIMED) !== true;
}

function firstError(test: TestCase): string {
  return test.result().errors?.[0]?.message.split('\n')[0] ?? 'no error';
}

function count(tests: readonly TestCase[], state: string): number {
  return tests.filter((test) => test.result().state === state).length;
}

/** Modules that failed without a failed test: they did not load, or a hook threw. */
function brokenModules(modules: readonly TestModule[]): number {
  return modules.filter((module) => !module.ok() && module.children.allTests('failed').next().done === true).length;
}

export default SummaryReporter;
