/**
 * `node scripts/test-report.ts count|failures` prints a summary of the last test run's report, for `.ci/run`. `times`
 * keeps how long its files took, for the order in which the next run begins them.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';

const FILE = '.vitest-report.json';
const LINES_SHOWN = 12;
const TIMES = 'test/support/times.json';
/** Shorter files may begin in any order. */
const KEPT_FROM_S = 3;

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Null if the test runner did not finish, which counts as one failure. */
const report = existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Report) : null;

const failureText = (name: string, text = ''): string =>
  [`failed: ${name}`, ...text.split('\n').slice(0, LINES_SHOWN)].join('\n  ');

function failuresOf({ testResults }: Report): string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (status === 'failed' && failed.length === 0) return [failureText(name, message)];
    return failed.map(({ fullName, failureMessages }) =>
      failureText(`${name}: ${fullName}`, failureMessages[0]),
    );
  });
}

/** Files that the run did not include keep the time they had. */
function keepTimes({ testResults }: Report): void {
  const times = JSON.parse(readFileSync(TIMES, 'utf8')) as Record<string, number>;
  for (const { name, startTime, endTime } of testResults)
    times[relative('.', name)] = Math.round((endTime - startTime) / 1_000);
  const kept = Object.entries(times).filter(([file, seconds]) => seconds >= KEPT_FROM_S && existsSync(file));
  const sorted = Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(TIMES, `${JSON.stringify(sorted, null, 2)}\n`);
}

if (process.argv[2] === 'count') console.log(report?.numPassedTests ?? 0, report?.numFailedTests ?? 1);
else if (report !== null && process.argv[2] === 'times') keepTimes(report);
else if (report !== null) for (const text of failuresOf(report)) console.log(text);
