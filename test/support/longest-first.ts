/** The order in which test files begin. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose files take a minute, each by itself. */
export const LONG = /\btest\/(?:crash|queue|simulation|notifications\/flood|statements\/late-writes)\b/;

/** A fresh clone knows no times: without this one long file is left alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
