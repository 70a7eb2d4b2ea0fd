/** Help fits the terminal, and says no default that is none. */
import { expect, test } from 'vitest';
import { refilled } from '../../src/cli/output/help-text.ts';
import { daybook } from './daybook.ts';

const TEXT =
  '\nEnds with 4 where data is or may be missing: a last run is older, the\nschedule did not end well. Else with 0.\n\n' +
  'Example, for an alert:\n  daybook status --max-age 26h || page-someone-who-is-awake\n';

test('paragraphs are filled anew, examples stay whole', () => {
  expect(refilled(TEXT, 40)).toBe(
    '\nEnds with 4 where data is or may be\nmissing: a last run is older, the\nschedule did not end well. Else with 0.\n\n' +
      'Example, for an alert:\n  daybook status --max-age 26h || page-someone-who-is-awake\n',
  );
});

test('what fits is left as it is written', () => {
  expect(refilled(TEXT, 80)).toBe(TEXT);
  expect(refilled(TEXT, Infinity)).toBe(TEXT);
});

test('an option that may be repeated has no default to tell', async () => {
  const { stdout } = await daybook(['statements', 'get', '--help'], {});
  expect(stdout).toMatch(/--merchant <no> +merchant number/);
  expect(stdout).not.toContain('[]');
  expect(stdout).toContain('(default: ".")');
});
