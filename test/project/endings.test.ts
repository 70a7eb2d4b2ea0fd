import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { EXIT, ExpectedError } from '../../src/ledger/ending.ts';
import { PLUGINS } from '../../src/plugins.ts';
import { exitCodeOf } from '../../src/run/verdict/exit-codes.ts';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(`${SRC}/${path}`, 'utf8') }));

/** Errors that mean a bug in daybook. A command that they reach ends with 70. */
const OUR_FAULTS = ['StatementMisfit'];
/** Errors that the throwing module catches itself, so that no command ends with them. */
const CAUGHT = [
  'ClockOff',
  'Misfit',
  'NoFigures',
  'NoStatement',
  'ObjectExists',
  'PlatformBehind',
  'ReadAnew',
  'Unreadable',
  'UnreadableRows',
  'UnreadableZip',
  'Wrong',
];

/** The same in options; a copy may be without one. */
const CAUGHT_IN: Readonly<Record<string, readonly string[]>> = {
  books: ['CellUnreadable'],
  pages: [
    'AccessRefused',
    'AnswerTooLong',
    'NoLongerOpen',
    'NotLoggedIn',
    'PageRefusal',
    'StepRefused',
    'TooManyChecks',
  ],
  sandbox: ['Refused'],
};
const caughtInOptions = PLUGINS.flatMap(({ name }) => CAUGHT_IN[name] ?? []);

const parents = new Map<string, string>();
for (const { text } of sources) {
  for (const [, name, parent] of text.matchAll(/class (\w+)(?:<[^{]*>)? extends (\w+)/g))
    parents.set(name!, parent!);
}
const ancestors = (name: string): string[] => {
  const parent = parents.get(name);
  return parent === undefined ? [] : [parent, ...ancestors(parent)];
};
const errors = [...parents.keys()].filter((name) => ancestors(name).some((one) => one.endsWith('Error')));

test('every class of error has an exit code, or is listed as a bug in daybook', () => {
  expect(errors.length).toBeGreaterThan(30);
  const without = errors.filter(
    (name) => name !== 'ExpectedError' && !ancestors(name).includes('ExpectedError'),
  );
  expect(without.sort()).toEqual([...OUR_FAULTS, ...CAUGHT, ...caughtInOptions].sort());
});

test('no code compares the name of an error as text', () => {
  const named = sources.flatMap(({ path, text }) =>
    errors
      .filter((name) => text.replaceAll(`name = '${name}'`, '').includes(`'${name}'`))
      .map((name) => `${path}: ${name}`),
  );
  expect(named).toEqual([]);
});

test('an error ends a command with its own code, whatever its name; anything else with 70', () => {
  class Odd extends ExpectedError {
    override readonly name = 'TypeError';
    readonly exitCode = EXIT.leaseHeld;
  }
  expect(exitCodeOf(new Odd('taken'))).toBe(5);
  expect(exitCodeOf(Object.assign(new Error('made up'), { name: 'LeaseHeld' }))).toBe(70);
  expect(exitCodeOf(new TypeError('a slip'))).toBe(70);
  expect(exitCodeOf({ exitCode: 2 })).toBe(70);
  expect(exitCodeOf(undefined)).toBe(70);
});
