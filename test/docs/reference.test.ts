/** docs/reference is generated. These tests fail if its pages are stale. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandsPage, commentsOf, referencePages } from '../../scripts/reference-pages.ts';

test('the pages show the current commands and settings (`npm run reference` writes them)', async () => {
  for (const [path, text] of await referencePages()) expect(readFileSync(path, 'utf8'), path).toBe(text);
});

test('a command’s arguments, options and help are shown, without the options that every command has', () => {
  const program = new Command('daybook');
  const parent = program.command('entries').description('entries');
  parent
    .command('find')
    .description('look an entry up')
    .argument('<batchNo>', 'its number')
    .option('--merchant <no>', 'only this|that merchant')
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample:\n  daybook entries find B1');
  expect(commandsPage(program).split('\n\n').slice(3)).toEqual([
    '## daybook entries find',
    'look an entry up.',
    '| argument | what it is |\n| --- | --- |\n| `<batchNo>` | its number |',
    '| option | what it does |\n| --- | --- |\n| `--merchant <no>` | only this\\|that merchant |',
    '```text\nExample:\n  daybook entries find B1\n```',
  ]);
});

test('a setting is described by the comment above it', () => {
  const comments = commentsOf(
    'platform:\n  # The one.\n  # And more.\n  a: 1\n  #   inside: 1\n  b: 2\ndaybook:\n  # Other\n  a: 3\n',
  );
  expect([...comments]).toEqual([
    ['platform.a', 'The one. And more.'],
    ['platform.b', ''],
    ['daybook.a', 'Other'],
  ]);
});
