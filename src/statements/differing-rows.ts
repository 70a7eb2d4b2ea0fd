/**
 * Which rows two files of one account day do not share: a comparison by batch number, with bounded memory. Both files
 * are read side by side, and a row is held only until the other file brings its batch number too. As rows of two
 * revisions stand at nearly the same place, hardly any are held. Where the files have little in common, they are read
 * again and again, each time for another share of the batch numbers.
 */
import type { Cells, RowDifference } from './formats/format.ts';
import { NoStatement, recordsOf } from './formats/csv.ts';
import { cellsOf } from '../verify/csv.ts';

/** Rows held of both files at once, and differences found: some 200 bytes each. */
const HELD_ROWS_MAX = 200_000;

export interface ComparedFile {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/** In the order of the statement, unless the files have to be read several times; by columns that both have. Throws `NoStatement`, and what reading throws. */
export async function* differingRows(
  before: ComparedFile,
  after: ComparedFile,
  { heldMax = HELD_ROWS_MAX }: { readonly heldMax?: number } = {},
): AsyncGenerator<RowDifference> {
  const sides = { before: createSide(before), after: createSide(after) };
  const all = await onePass(sides, () => true, heldMax);
  if (all !== null) {
    yield* all;
    return;
  }
  // Each share is half of what can be held, so that one that is larger than average still fits.
  const shares = Math.max(2, Math.ceil((2 * (before.rows + after.rows)) / heldMax));
  for (let share = 0; share < shares; share += 1) {
    yield* (await onePass(sides, (batchNo) => shareOf(batchNo, shares) === share, Infinity))!;
  }
}

/** Which of `shares` equal shares a batch number falls into (FNV-1a). */
function shareOf(batchNo: string, shares: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < batchNo.length; at += 1) {
    hash = Math.imul(hash ^ batchNo.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0) % shares;
}

type Sides = Readonly<Record<'before' | 'after', Side>>;

/** A difference as it is kept: its cells are only parsed when it is handed over. */
interface Found {
  readonly place: number;
  readonly before: string | null;
  readonly after: string | null;
}

async function onePass(
  sides: Sides,
  isAsked: (batchNo: string) => boolean,
  heldMax: number,
): Promise<Iterable<RowDifference> | null> {
  const found: Found[] = [];
  const rows = () => new Map<string, { readonly record: string; readonly place: number }>();
  const held = { before: rows(), after: rows() };
  const isSpelledAlike = sides.before.columns.join() === sides.after.columns.join();
  const other = { before: 'after', after: 'before' } as const;

  const take = (own: keyof Sides, record: string, place: number): void => {
    const batchNo = sides[own].batchNoOf(record);
    if (!isAsked(batchNo)) return;
    const twin = held[other[own]].get(batchNo);
    if (twin === undefined) return void held[own].set(asIs(batchNo), { record: asIs(record), place });
    held[other[own]].delete(batchNo);
    if (isSpelledAlike && twin.record === record) return;
    const [before, after] = own === 'before' ? [record, twin.record] : [twin.record, record];
    if (changedIn(sides, before, after).length > 0)
      found.push({ place, before: asIs(before), after: asIs(after) });
  };

  let place = 0;
  for await (const [was, is] of sideBySide(sides.before.records(), sides.after.records())) {
    for (let at = 0; at < Math.max(was.length, is.length); at += 1) {
      place += 1;
      if (isSpelledAlike && was[at] === is[at]) continue;
      if (at < was.length) take('before', was[at]!, place);
      if (at < is.length) take('after', is[at]!, place);
    }
    if (held.before.size + held.after.size + found.length > heldMax) return null;
  }
  for (const { record, place: at } of held.before.values())
    found.push({ place: at, before: record, after: null });
  for (const { record, place: at } of held.after.values())
    found.push({ place: at, before: null, after: record });
  return differencesOf(found, sides);
}

/** A substring keeps the entire string it was cut from in memory; a copy does not. */
const asIs = (text: string): string => Buffer.from(text).toString();

function* differencesOf(found: Found[], sides: Sides): Generator<RowDifference> {
  for (const { before, after } of found.sort((a, b) => a.place - b.place)) {
    yield {
      batchNo: before === null ? sides.after.batchNoOf(after!) : sides.before.batchNoOf(before),
      before: before === null ? null : sides.before.cells(before),
      after: after === null ? null : sides.after.cells(after),
      changed: before === null || after === null ? [] : changedIn(sides, before, after),
    };
  }
}

function changedIn(sides: Sides, before: string, after: string): string[] {
  const [was, is] = [sides.before.cells(before), sides.after.cells(after)];
  return sides.before.columns.filter((column) => is[column] !== undefined && was[column] !== is[column]);
}

type Side = ReturnType<typeof createSide>;

function createSide({ name, columns, bytes }: ComparedFile) {
  const key = columns.indexOf('batch_no');
  const cells = (record: string): Cells => {
    const values = cellsOf(record);
    if (values?.length !== columns.length)
      throw new NoStatement(name, `a row does not have the columns ${columns.join()}`);
    return Object.fromEntries(columns.map((column, at) => [column, values[at]!]));
  };
  return {
    columns,
    cells,
    /** Most batch numbers are the first cell and need no quotes. */
    batchNoOf: (record: string): string =>
      key === 0 && !record.startsWith('"') && record.includes(',')
        ? record.slice(0, record.indexOf(','))
        : cells(record)['batch_no']!,
    async *records(): AsyncGenerator<readonly string[]> {
      let isHeader = true;
      for await (const records of recordsOf(bytes(), name)) {
        const [first] = records;
        if (isHeader && first !== columns.join())
          throw new NoStatement(name, `its header is not ${columns.join()}`);
        yield isHeader ? records.slice(1) : records;
        isHeader = false;
      }
    },
  };
}

/** Reads two files in step: yields as many records of the one as of the other, until one of them ends. */
async function* sideBySide(
  first: AsyncGenerator<readonly string[]>,
  second: AsyncGenerator<readonly string[]>,
): AsyncGenerator<readonly [readonly string[], readonly string[]]> {
  try {
    let [left, right] = [await filled([], first), await filled([], second)];
    while (left.length > 0 || right.length > 0) {
      const both = Math.min(left.length, right.length) || Math.max(left.length, right.length);
      yield [left.slice(0, both), right.slice(0, both)];
      left = await filled(left.slice(both), first);
      right = await filled(right.slice(both), second);
    }
  } finally {
    await Promise.all([first.return(undefined), second.return(undefined)]);
  }
}

/** The records that are left, or else the next ones of the file; empty at its end. */
async function filled(
  left: readonly string[],
  source: AsyncGenerator<readonly string[]>,
): Promise<readonly string[]> {
  let records = left;
  while (records.length === 0) {
    const next: IteratorResult<readonly string[], unknown> = await source.next();
    if (next.done === true) return [];
    records = next.value;
  }
  return records;
}

type Change = 'came' | 'went' | 'changed';
export type ChangeCounts = Readonly<Record<Change, number>>;

export const changeOf = ({ before, after }: RowDifference): Change =>
  before === null ? 'came' : after === null ? 'went' : 'changed';

export function tallyRows(shownMax: number) {
  const counts = { came: 0, went: 0, changed: 0 };
  const shown: RowDifference[] = [];
  return {
    counts,
    shown,
    take: (row: RowDifference): void => {
      counts[changeOf(row)] += 1;
      if (shown.length < shownMax) shown.push(row);
    },
  };
}
