/** Files that take minutes begin first: one that begins last is waited for with every other worker idle. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A clean checkout knows no durations, and vitest goes by size; these are small files that start much. */
const SLOW = ['test/simulation/simulation.test.ts', 'docker/docker-provider.test.ts', 'test/crash/crash.test.ts'];

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification): boolean => SLOW.some((name) => moduleId.endsWith(name));
    const sorted = await super.sort(files);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}
