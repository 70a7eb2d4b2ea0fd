/** The order in which test files begin: the longest first, so that none is left alone at the end. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Seconds by file, of those that take some: `node scripts/test-report.ts times` writes them after a run. */
const TIMES = new URL('times.json', import.meta.url);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const times = JSON.parse(readFileSync(TIMES, 'utf8')) as Readonly<Record<string, number>>;
    const seconds = ({ moduleId }: TestSpecification): number =>
      times[relative(this.ctx.config.root, moduleId)] ?? 1;
    return (await super.sort(files)).sort((a, b) => seconds(b) - seconds(a));
  }
}
