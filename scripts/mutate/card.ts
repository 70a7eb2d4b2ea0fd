/** What became of mutants, and the card of it: the share that was noticed, and each that was not. */
import { folderOf } from './draw.ts';
import type { Mutant } from './mutants.ts';

/** One line of the file of records. */
export interface Result extends Pick<Mutant, 'file' | 'line' | 'before' | 'after' | 'start'> {
  readonly seed: number;
  /** The test that failed with it, or that it kept from ending; null if none did. */
  readonly noticedBy: string | null;
  readonly seconds: number;
  /** How many of the test files that reach its file were run, and how many there are. */
  readonly tried: number;
  readonly reaching: number;
}

/** A survivor that somebody read, named by its file and its lines. */
export interface Accepted extends Pick<Mutant, 'file' | 'before' | 'after'> {
  /** `equivalent`: no test could notice it. `unworthy`: one could, and would be worth less than it costs. */
  readonly kind: 'equivalent' | 'unworthy';
  readonly reason: string;
}

const acceptedAs = (accepted: readonly Accepted[], result: Result): Accepted | undefined =>
  accepted.find(
    ({ file, before, after }) => file === result.file && before === result.before && after === result.after,
  );

export interface Score {
  readonly tried: number;
  readonly noticed: number;
  readonly equivalent: number;
}

export function scoreOf(results: readonly Result[], accepted: readonly Accepted[]): Score {
  const survivors = results.filter(({ noticedBy }) => noticedBy === null);
  const same = survivors.filter((one) => acceptedAs(accepted, one)?.kind === 'equivalent');
  return { tried: results.length, noticed: results.length - survivors.length, equivalent: same.length };
}

/** The share of all, and of those that a test could notice; 1 if there is none. */
export const shareOfAll = ({ tried, noticed }: Score): number => (tried === 0 ? 1 : noticed / tried);
export const shareOf = ({ tried, noticed, equivalent }: Score): number =>
  tried === equivalent ? 1 : noticed / (tried - equivalent);

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const HEAD = `# The mutation score

A mutant is the source with one small fault in it: \`<\` for \`<=\`, a condition negated, a call or a message left out, a
number one off. It is noticed if a test fails, or never ends, because of it. \`npm run mutate\` draws mutants from a seed,
tries them, and makes this card. Why it is made like this is in [\`decisions/mutation.md\`](decisions/mutation.md).
`;

const FOOT = `
## Running it

    npm run mutate -- --folder src/sync --seed 7 --count 20
    npm run mutate -- --since HEAD~1 --count 20 --minutes 4
    npm run mutate -- --known test/support/known-mutants.jsonl --count 20 --at-least 0.8
    DAYBOOK_TEST_COVERAGE=/tmp/coverage npm test -- --all
    npm run mutate -- --seed 2404 --count 400 --coverage /tmp/coverage --record mutants.jsonl --card docs/mutation.md

The last line makes this card; what the tests cover, written by the line before, saves it most of its time. With the same
file of records it goes on where it was stopped. \`--known\` tries again what a test is known to notice: CI does it. A
survivor that no test could notice, or that is not worth one, has a line with the reason in
[\`mutation-accepted.json\`](mutation-accepted.json).
`;

/** In a table or a list nothing longer than this helps. */
const SHOWN_MAX = 160;

/** A mutant's lines as code in one line, cut around where they begin to differ. */
function shown(text: string, other: string): string {
  const [plain, otherPlain] = [text, other].map((one) => one.replace(/\s+/g, ' ')) as [string, string];
  let same = 0;
  while (same < plain.length && plain[same] === otherPlain[same]) same += 1;
  const from = plain.length <= SHOWN_MAX ? 0 : Math.max(0, same - SHOWN_MAX / 2);
  const to = from + SHOWN_MAX;
  const cut = `${from > 0 ? '…' : ''}${plain.slice(from, to)}${to < plain.length ? '…' : ''}`;
  return cut.includes('`') ? `\`\` ${cut} \`\`` : `\`${cut}\``;
}

/** `src/a.ts:3`, and the change. */
export const describe = ({ file, line, before, after }: Result): string =>
  `${file}:${line}: ${shown(before, after)} → ${shown(after, before)}`;

const row = (name: string, score: Score): string =>
  `| ${name} | ${score.tried} | ${score.noticed} | ${score.equivalent} | ${percent(shareOfAll(score))} | ${percent(shareOf(score))} |`;

/** The card's text. `date` is `YYYY-MM-DD`. */
export function cardOf(results: readonly Result[], accepted: readonly Accepted[], date: string): string {
  const all = scoreOf(results, accepted);
  const folders = [...new Set(results.map(({ file }) => folderOf(file)))].sort();
  const seeds = [...new Set(results.map(({ seed }) => seed))].join(', ');
  const survivors = results
    .filter(({ noticedBy }) => noticedBy === null)
    .sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
  const open = survivors.filter((one) => acceptedAs(accepted, one) === undefined);
  const line = (one: Result): string => `- ${describe(one)}. ${whyOf(one, accepted)}`;
  const list = (name: string, of: readonly Result[]): string[] =>
    of.length === 0 ? [] : ['', `## ${name}`, '', ...of.map(line)];
  const kind = (wanted: Accepted['kind']): Result[] =>
    survivors.filter((one) => acceptedAs(accepted, one)?.kind === wanted);
  return [
    HEAD,
    `On ${date}, ${all.tried} mutants of seed ${seeds}: ${percent(shareOf(all))} noticed, without ${all.equivalent} that no`,
    `test could notice; ${percent(shareOfAll(all))} with them.`,
    '',
    '| folder | tried | noticed | equivalent | noticed of all | noticed without the equivalent |',
    '|---|---|---|---|---|---|',
    ...folders.map((folder) =>
      row(
        folder,
        scoreOf(
          results.filter((one) => folderOf(one.file) === folder),
          accepted,
        ),
      ),
    ),
    row('all', all),
    ...list('Not noticed', open),
    ...list('Not worth a test', kind('unworthy')),
    ...list('Equivalent', kind('equivalent')),
    FOOT,
  ].join('\n');
}

function whyOf(one: Result, accepted: readonly Accepted[]): string {
  const read = acceptedAs(accepted, one);
  if (read !== undefined) return read.reason;
  return one.tried < one.reaching
    ? `${one.tried} of the ${one.reaching} test files that reach it were run.`
    : '';
}
