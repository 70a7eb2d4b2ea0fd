/** Makes the card of results: plain tables for a terminal, and a page. It is never edited by hand. */
import { counted, table } from '../../src/cli/output/text.ts';
import type { Form } from './form.ts';
import type { Outcome } from './play.ts';
import { sheetsOf, type Sheet } from './sheets.ts';
import { countOf } from './tally.ts';
import type { Results } from './work.ts';

export interface CardContext {
  readonly forms: readonly Form[];
  readonly results: Results;
  /** The day it was made. */
  readonly day: string;
}

const spoiledText = (outcomes: readonly Outcome[]): string | null => {
  const { spoiled } = countOf(outcomes);
  return spoiled === 0
    ? null
    : `${counted(spoiled, 'history', 'histories')} had a false alarm before the lie began.`;
};

/** For a terminal. */
export const cardText = (context: CardContext): string =>
  [
    ...sheetsOf(context.forms, context.results).map(
      ({ title, columns, rows }) =>
        `${title}\n\n${table(
          withoutLie(columns),
          rows.map((row) => without(columns, row)),
        )}`,
    ),
    spoiledText(context.results.outcomes),
    ...context.results.failures.map((failure) => `not played: ${failure}`),
  ]
    .filter((part) => part !== null)
    .join('\n\n');

/** Columns with sentences are only on the page, as a terminal is too narrow. */
const LONG = ['the lie', 'because'];
const withoutLie = (columns: readonly string[]): string[] =>
  columns.filter((column) => !LONG.includes(column));
const without = (columns: readonly string[], row: readonly string[]): string[] =>
  row.filter((_, at) => !LONG.includes(columns[at]!));

const markdownTable = ({ columns, rows }: Sheet): string => {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [
    line(columns.map((column) => column.replace(/^>/, ''))),
    line(columns.map((column) => (column.startsWith('>') ? '--:' : '---'))),
    ...rows.map(line),
  ].join('\n');
};

const seedsText = ({ outcomes, clean }: Results): string => {
  const seeds = new Set([...outcomes, ...clean].map(({ seed }) => seed.split('/')[0]!));
  return `${seeds.size === 1 ? 'seed' : 'seeds'} ${[...seeds].join(' and ')}`;
};

/** The text of the entire page. */
export function cardPage(context: CardContext): string {
  const { results, day } = context;
  const perForm = [...Map.groupBy(results.outcomes, ({ form }) => form).values()].map(({ length }) => length);
  const spoiled = spoiledText(results.outcomes);
  const parts = [
    '# The catch rate',
    'A platform can show a ledger wrongly in many ways. Each is planted here in small made-up ledgers, served to daybook ' +
      'over several nights, and what daybook stores, publishes and says is held against the true books.',
    `Made by \`npm run catch-rate -- --card docs/catch-rate.md\` (\`--help\` says how to play more, or one again) on ${day}, from ${seedsText(results)}: ` +
      `${counted(results.outcomes.length, 'history', 'histories')} with a lie, ${Math.min(...perForm)} to ${Math.max(...perForm)} a form, and ` +
      `${results.clean.length} without one. Never edited by hand.`,
    LEGEND,
    ...sheetsOf(context.forms, results).map((sheet) => `## ${sheet.title}\n\n${markdownTable(sheet)}`),
    ...(spoiled === null ? [] : [spoiled]),
    ...(results.failures.length === 0
      ? []
      : [`Histories that could not be played to their end: ${results.failures.length}.`]),
  ];
  return `${parts.join('\n\n')}\n`;
}

const LEGEND = [
  '- **same night**: the first run that met the lie, or a later one before anything wrong was stored or published, did not end with 0',
  '- **later**: a run that followed did not end with 0; until then something wrong stood under an exit code of 0',
  '- **silent**: every run ended with 0, and what is stored or published was not true; *mended*: a later run put it right without a word',
  '- **harmless**: every run ended with 0, and all that is stored and published was true throughout',
  '- **at its place**, **right sentence**: of the lies caught, those told of an account day they are about, and those of ' +
    'which the run said what each form in `test/catch-rate/forms` expects',
  '- **first sentence right**: of the lies caught, those whose cause is named by the first reason of that run; where it only ' +
    'counts breaks, by what the first of them most likely comes from',
  '- **believed**: a published statement followed a lie that is never to be believed, however often it is repeated: a refusal, ' +
    'or days and accounts that are gone all at the same time',
  '- **wrong as continuous**: a statement that is not true stood published without a break after a run',
  '- **revised unsaid**: a published statement was replaced by a run that ended with 0 and did not say so',
].join('\n');
