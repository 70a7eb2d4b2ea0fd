/**
 * The order in which test files begin: the longest first, so that none is left alone at the end. Files of one project
 * stay together, as only they share a process.
 */
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
    const isQuick = ({ project }: TestSpecification): number => Number(project.name === 'quick');
    return (await super.sort(files)).sort((a, b) => isQuick(a) - isQuick(b) || seconds(b) - seconds(a));
  }
}
