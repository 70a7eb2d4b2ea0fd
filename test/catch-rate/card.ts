/** The card: figures of a run of forms, as plain tables for a terminal and as a page. Made here, never by hand. */
import { counted, table } from '../../src/cli/text.ts';
import type { NightCalls } from './calls.ts';
import { FAMILIES, type Form } from './form.ts';
import type { Outcome } from './play.ts';
import { byForm, countClean, countOf, type CleanCount, type Count } from './tally.ts';
import type { Results } from './work.ts';

export interface CardContext {
  readonly forms: readonly Form[];
  readonly results: Results;
  readonly seed: number;
  /** Histories a form that were asked for. */
  readonly histories: number;
  /** The day it was made on. */
  readonly day: string;
}

const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${Math.round((100 * part) / whole)} %`;
const orNone = (figure: number): string => (figure === 0 ? '·' : String(figure));

const exitCodesText = ({ exitCodes }: Count): string =>
  [...exitCodes].map(([code, times]) => `${code} ×${times}`).join(', ');

/** `20 by night 1`: the last of them was told so many nights after the lie's. */
const laterText = ({ endings, nightsMax }: Count): string =>
  endings.later === 0 ? '·' : `${endings.later} by night ${nightsMax}`;

const COLUMNS = [
  '>histories',
  '>same night',
  '>later',
  '>silent',
  '>harmless',
  '>at its place',
  '>right sentence',
  '>wrong as continuous',
  '>revised unsaid',
  'exit codes',
] as const;

const cellsOf = (count: Count): string[] => [
  String(count.histories),
  orNone(count.endings['same night']),
  laterText(count),
  orNone(count.endings.silent),
  orNone(count.endings.harmless),
  percent(count.atPlace, count.caught),
  percent(count.rightSentence, count.caught),
  orNone(count.wrongAsContinuous),
  orNone(count.revisedUnsaid),
  exitCodesText(count),
];

const isVisible = ({ sight }: Form): boolean => sight.kind === 'visible';

interface Sheet {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

type Grouped = readonly (readonly [Form, readonly Outcome[]])[];
const outcomesOf = (grouped: Grouped): readonly Outcome[] => grouped.flatMap(([, own]) => own);

const formRows = (grouped: Grouped): string[][] =>
  grouped.map(([form, own]) => [form.name, form.lie, ...cellsOf(countOf(own))]);

function familySheet(visible: Grouped): Sheet {
  const rows = FAMILIES.flatMap((family) => {
    const own = visible.filter(([form]) => form.family === family);
    return own.length === 0 ? [] : [[family, String(own.length), ...cellsOf(countOf(outcomesOf(own)))]];
  });
  const all = ['all', String(visible.length), ...cellsOf(countOf(outcomesOf(visible)))];
  return {
    title: 'What this API lets anyone see, by family',
    columns: ['family', '>forms', ...COLUMNS],
    rows: [...rows, all],
  };
}

const familySheets = (visible: Grouped): Sheet[] =>
  FAMILIES.flatMap((family) => {
    const own = visible.filter(([form]) => form.family === family);
    return own.length === 0
      ? []
      : [{ title: `Lies: ${family}`, columns: ['form', 'the lie', ...COLUMNS], rows: formRows(own) }];
  });

function untellableSheet(untellable: Grouped): Sheet {
  const rows = untellable.map(([form, own]) => {
    const { histories, caught, endings } = countOf(own);
    const because = form.sight.kind === 'visible' ? '' : form.sight.because;
    return [form.name, form.lie, because, String(histories), orNone(caught), orNone(endings.silent)];
  });
  return {
    title: 'What nobody can tell from this API',
    columns: ['form', 'the lie', 'because', '>histories', '>caught', '>silent'],
    rows,
  };
}

function cleanSheets(clean: CleanCount): Sheet[] {
  const { histories, runs, entries, alarmed, harmed, traits, sentences } = clean;
  return [
    {
      title: 'Clean histories: every word of a run is a false alarm',
      columns: ['>histories', '>runs', '>entries', '>with a false alarm', '>copy not true'],
      rows: [[histories, runs, entries, alarmed, harmed].map((figure) => figure.toLocaleString('en'))],
    },
    {
      title: 'False alarms by what is in the history',
      columns: ['with', '>histories', '>with a false alarm'],
      rows: traits.map(([name, of]) => [name, String(of.histories), orNone(of.alarmed)]),
    },
    ...(sentences.length === 0
      ? []
      : [
          {
            title: 'What the false alarms said',
            columns: ['sentence', '>histories'],
            rows: sentences.map(([sentence, times]) => [sentence, String(times)]),
          },
        ]),
  ];
}

const callsSheet = (calls: readonly NightCalls[]): Sheet => ({
  title: 'Calls a night, for a merchant in steady state',
  columns: ['>pages a day', '>calls'],
  rows: [...calls]
    .sort((a, b) => a.pagesADay - b.pagesADay)
    .map((night) => [String(night.pagesADay), String(night.calls)]),
});

/** Every table of the card that there are figures for. */
function sheetsOf({ forms, results }: CardContext): Sheet[] {
  const grouped = byForm(forms, results.outcomes);
  const visible = grouped.filter(([form]) => isVisible(form));
  const untellable = grouped.filter(([form]) => !isVisible(form));
  return [
    ...(visible.length === 0 ? [] : [familySheet(visible), ...familySheets(visible)]),
    ...(untellable.length === 0 ? [] : [untellableSheet(untellable)]),
    ...(results.clean.length === 0 ? [] : cleanSheets(countClean(results.clean))),
    ...(results.calls.length === 0 ? [] : [callsSheet(results.calls)]),
  ];
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
    ...sheetsOf(context).map(
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

/** Sentences are for the page: a terminal is not wide enough. */
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

/** The page, whole. */
export function cardPage(context: CardContext): string {
  const { results, seed, histories, day } = context;
  const spoiled = spoiledText(results.outcomes);
  const parts = [
    '# The catch rate',
    'A platform can show a ledger wrongly in many ways. Each is planted here in small made-up ledgers, served to daybook ' +
      'over several nights, and what daybook stores, publishes and says is held against the true books.',
    `Made by \`npm run catch-rate -- --histories ${histories} --seed ${seed} --card docs/catch-rate.md\` on ${day}: ` +
      `${counted(results.outcomes.length, 'history', 'histories')} with a lie, ${histories} a form at most, and ` +
      `${results.clean.length} without one. Never edited by hand.`,
    LEGEND,
    ...sheetsOf(context).map((sheet) => `## ${sheet.title}\n\n${markdownTable(sheet)}`),
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
  '- **silent**: every run ended with 0, and what is stored or published was not true',
  '- **harmless**: every run ended with 0, and all that is stored and published was true throughout',
  '- **at its place**, **right sentence**: of the lies caught, those told of an account day they are about, and those of ' +
    'which the run said what each form in `test/catch-rate/forms` expects',
  '- **wrong as continuous**: a statement that is not true stood published without a break after a run',
  '- **revised unsaid**: a published statement was replaced by a run that ended with 0 and did not say so',
].join('\n');
