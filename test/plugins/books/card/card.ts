/** The match card: what became of each fault, as a table and as a page. The page is never edited by hand. */
import { table } from '../../../../src/cli/output/text.ts';
import { FAULT_NAMES, FAULTS } from '../../../../src/plugins/sandbox/own-books.ts';
import type { Played, JudgedTruth } from './play.ts';

const COLUMNS = ['fault', 'truths', 'one answer', 'of these matched', 'matched', 'proposed', 'open', 'wrong'];

const rowOf = (name: string, truths: readonly JudgedTruth[]): string[] => {
  const count = (isMeant: (truth: JudgedTruth) => boolean): number => truths.filter(isMeant).length;
  const withAnswer = count(({ hasAnswer }) => hasAnswer);
  const right = count(({ hasAnswer, ending }) => hasAnswer && ending === 'matched');
  const endings = (['matched', 'proposed', 'open', 'wrong'] as const).map((ending) =>
    count((truth) => truth.ending === ending),
  );
  return [
    name,
    String(truths.length),
    String(withAnswer),
    withAnswer === 0 ? '–' : `${((100 * right) / withAnswer).toFixed(1)} %`,
    ...endings.map(String),
  ];
};

const rowsOf = (played: readonly Played[]): string[][] => {
  const all = played.flatMap(({ truths }) => truths);
  return [
    ...['none', ...FAULT_NAMES].map((name) =>
      rowOf(
        name,
        all.filter(({ fault }) => fault === name),
      ),
    ),
    rowOf('all', all),
  ];
};

/** What has to be zero, and is not counted in the table. */
const summary = (played: readonly Played[]): string =>
  `Matches that differ from those counted out, entries in two matches, and days whose figures do not agree: ${played.flatMap(({ problems }) => problems).length}.`;

/** The wrong matches by the rule and the faults of their entries. */
function wrongText(played: readonly Played[]): string {
  const wrong = played.flatMap(({ coincidences }) => coincidences);
  if (wrong.length === 0) return 'No match is wrong.';
  const kinds = Map.groupBy(wrong, ({ rule, faults }) => `${rule}: ${faults}`);
  return [
    `Wrong matches: ${wrong.length}. In each, entries with different faults have the same amount within the days of the rule, and no other ` +
      'entry of that amount is near; so it is the only explanation that the rules in their order permit.',
    [...kinds]
      .map(([kind, { length }]) => `- ${kind}: ${length}`)
      .sort()
      .join('\n'),
  ].join('\n\n');
}

/** For a terminal. */
export const cardText = (played: readonly Played[]): string =>
  [table(COLUMNS, rowsOf(played)), summary(played), wrongText(played)].join('\n\n');

/** The page. `day`: when it was made. */
export function cardPage(
  played: readonly Played[],
  { seed, day }: { readonly seed: number; readonly day: string },
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return (
    [
      '# The match card',
      'Made-up books with known faults are imported and matched with their ledgers, as `daybook books` does. The result is held ' +
        'against what is true, and against a slow search that counts out every explanation that the rules of [own books](books.md) permit.',
      `Made by \`npm run match-card -- --card docs/match-card.md\` on ${day}: ${played.length} books from seed ${seed}. Never edited by hand.`,
      [
        '- **truths**: rows of the book and entries of the ledger that are one and the same, or that have no counterpart',
        '- **one answer**: those that are the only explanation by the rules; **of these matched**: how many of them were',
        '- **proposed**: not matched, and shown to a person as candidates; **open**: not matched, and nothing fits',
        '- **wrong**: an entry of it is in a match with something else',
      ].join('\n'),
      [line(COLUMNS), line(['---', ...COLUMNS.slice(1).map(() => '--:')]), ...rowsOf(played).map(line)].join(
        '\n',
      ),
      summary(played),
      '## Wrong matches',
      wrongText(played),
      '## The faults',
      FAULT_NAMES.map((name) => `- **${name}**: ${FAULTS[name].about}`).join('\n'),
      '',
    ]
      .join('\n\n')
      .trimEnd() + '\n'
  );
}
