/** The weight of each module stays within its budget in docs/architecture.md, and a budget follows the weight down. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** A module may weigh this much less than its budget before the budget has to be lowered: 3 %, and never less than 100 lines. */
const slackOf = (atMost: number): number => Math.max(100, Math.ceil(atMost * 0.03));

/** Rows of the table: the paths of a module, and how many lines they may have. */
function budgets(): { readonly paths: readonly string[]; readonly atMost: number }[] {
  const page = readFileSync('docs/architecture.md', 'utf8');
  const section = page.slice(page.indexOf('## Budgets'));
  const rows = [...section.matchAll(/^\| (`[^|]+`) +\| +([\d,]+) +\|/gm)];
  return rows.map(([, paths, atMost]) => ({
    paths: [...paths!.matchAll(/`([^`]+)`/g)].map(([, path]) => path!),
    atMost: Number(atMost!.replaceAll(',', '')),
  }));
}

const linesOf = (paths: readonly string[]): number =>
  execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', ...paths], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.(?:ts|sql)$/.test(file) && !file.endsWith('/schema.ts') && existsSync(file))
    .reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);

test('the table has every module', () => {
  const named = budgets().flatMap(({ paths }) => paths);
  const modules = execFileSync('git', ['ls-files', 'src', 'jobs', 'sql'], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.(?:ts|sql)$/.test(file) && existsSync(file));
  expect(modules.length).toBeGreaterThan(100);
  expect(
    modules.filter((file) => !named.some((path) => file === path || file.startsWith(`${path}/`))),
  ).toEqual([]);
});

test.each(budgets())('$paths stay within $atMost lines', ({ paths, atMost }) => {
  const lines = linesOf(paths);
  expect(lines, 'more than the budget: take something away').toBeLessThanOrEqual(atMost);
  expect(lines, 'far below the budget: lower it').toBeGreaterThanOrEqual(atMost - slackOf(atMost));
});
