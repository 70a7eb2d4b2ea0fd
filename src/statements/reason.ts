/**
 * Puts into words why a revision replaces another, for finance: `2 late entries (59101, 59102), opening moved by
 * 10.00`. Pure.
 */
import { entriesIn } from '../ledger/chain/figures.ts';
import type { Account, Figures, StatedFigures } from '../ledger/entry.ts';
import { compareAmounts, subtractAmounts } from '../ledger/money.ts';
import { counted } from '../ledger/text.ts';
import { placeText, type CausedRow } from './row-causes.ts';

/** Most entries of one kind that are named; the rest is counted. */
export const ENTRIES_NAMED_MAX = 5;

const KINDS = [
  'late',
  'returned',
  'moved-here',
  'vanished',
  'moved-away',
  'amended',
  'more',
  'fewer',
  'other',
] as const;
type Kind = (typeof KINDS)[number];

/** The words for each kind of change, by the number of entries. */
const SAID: Readonly<Record<Kind, (count: number) => string>> = {
  late: (count) => counted(count, 'late entry', 'late entries'),
  returned: (count) => `${entries(count)} that came back`,
  'moved-here': (count) => `${entries(count)} moved here`,
  vanished: (count) => `${entries(count)} no longer held by the platform`,
  'moved-away': (count) => `${entries(count)} moved away`,
  amended: (count) => `${entries(count)} amended`,
  more: (count) => `${entries(count)} more`,
  fewer: (count) => `${entries(count)} fewer`,
  other: (count) => `${entries(count)} changed`,
};
const entries = (count: number): string => counted(count, 'entry', 'entries');

/** What happened to entries from one revision to the next: the number of each kind, and the first few batch numbers. */
export type RowChanges = ReadonlyMap<Kind, { readonly count: number; readonly named: readonly string[] }>;

/** Counts rows as they come. Of the rows themselves, only the batch numbers to be named are kept. */
export function countChanges(account: Account): {
  readonly take: (rows: readonly CausedRow[]) => void;
  readonly changes: RowChanges;
} {
  const changes = new Map<Kind, { count: number; named: string[] }>();
  return {
    changes,
    take: (rows) => {
      for (const row of rows) {
        const kind = kindOf(row);
        const known = changes.get(kind) ?? { count: 0, named: [] };
        changes.set(kind, known);
        known.count += 1;
        if (known.named.length < ENTRIES_NAMED_MAX) known.named.push(nameOf(row, account));
      }
    },
  };
}

function kindOf({ cause, before, after }: CausedRow): Kind {
  if (cause.kind !== 'unknown') return cause.kind;
  if (before === null) return 'more';
  return after === null ? 'fewer' : 'other';
}

function nameOf({ cause, batchNo }: CausedRow, account: Account): string {
  if (cause.kind === 'moved-here') return `${batchNo} from ${placeText(cause, account)}`;
  return cause.kind === 'moved-away' ? `${batchNo} to ${placeText(cause, account)}` : batchNo;
}

function rowsSaid(changes: RowChanges): string[] {
  return KINDS.flatMap((kind) => {
    const found = changes.get(kind);
    if (found === undefined) return [];
    const { count, named } = found;
    const more = count > named.length ? ` and ${count - named.length} more` : '';
    return `${SAID[kind](count)} (${named.join(', ')}${more})`;
  });
}

/** If the rows could not be compared, only their number can be. */
function rowCountSaid(before: Figures, after: Figures): string[] {
  const more = entriesIn(after) - entriesIn(before);
  return more === 0 ? [] : [more > 0 ? SAID.more(more) : SAID.fewer(-more)];
}

function breaksSaid(more: number, where: string): string[] {
  if (more > 0) return [counted(more, `break found${where}`, `breaks found${where}`)];
  return more < 0 ? [counted(-more, `break healed${where}`, `breaks healed${where}`)] : [];
}

/** The reason as one text. `changes` is null if the earlier revision cannot be read, so that its rows are not known. */
export function reasonOf(before: StatedFigures, after: StatedFigures, changes: RowChanges | null): string {
  const said = changes === null ? rowCountSaid(before, after) : rowsSaid(changes);
  const openingMoved = subtractAmounts(after.opening, before.opening);
  const closingMoved = subtractAmounts(after.closing, before.closing);
  if (compareAmounts(openingMoved, '0') !== 0) said.push(`opening moved by ${openingMoved}`);
  else if (said.length === 0 && compareAmounts(closingMoved, '0') !== 0) {
    said.push(`closing moved by ${closingMoved}`);
  }
  const own = ({ breakCount, breaksAfter }: Figures): number => breakCount - breaksAfter;
  said.push(
    ...breaksSaid(own(after) - own(before), ''),
    ...breaksSaid(after.breaksAfter - before.breaksAfter, ' between it and the next entry'),
  );
  if (before.breakCount === after.breakCount && before.verdict !== after.verdict)
    said.push(`${before.verdict} became ${after.verdict}`);
  if (after.otherClosings !== undefined && before.otherClosings === undefined)
    said.push('other balances fit as well');
  if (before.otherClosings !== undefined && after.otherClosings === undefined) said.push('balance decided');
  if (after.restarted && !before.restarted) said.push('opening derived from the first entry');
  if (before.restarted && !after.restarted) said.push('opening taken up from the day before');
  if (changes === null)
    said.push('the file of the revision before could not be read, so entries are not named');
  return said.length === 0 ? 'the same entries in another order' : said.join(', ');
}
