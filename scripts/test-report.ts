/** `node scripts/test-report.ts count|failures`: prints a summary of the last test run's report, for `.ci/run`. */
import { existsSync, readFileSync } from 'node:fs';

const FILE = '.vitest-report.json';
const LINES_SHOWN = 12;

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
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

if (process.argv[2] === 'count') console.log(report?.numPassedTests ?? 0, report?.numFailedTests ?? 1);
else if (report !== null) for (const text of failuresOf(report)) console.log(text);
