/**
 * Which rows two files of one account day do not share: a comparison by batch number, in flat memory. Both files are read
 * side by side, and a row is held only until the other file brings its batch number too. As rows of two revisions stand at
 * nearly the same place, hardly any are held. Where the files have little in common, they are read again and again, each
 * time for another share of the batch numbers.
 */
import { cellsOf, NoStatement, recordsOf } from './csv-records.ts';

/** Rows held of both files at once, and differences found: some 200 bytes each. */
export const HELD_ROWS_MAX = 200_000;

export interface ComparedFile {
  /** For errors. */
  readonly name: string;
  /** Of the file, in order. */
  readonly columns: readonly string[];
  readonly rows: number;
  /** Called once for each time the file is read. */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/** A row's cells by column. */
export type Cells = Readonly<Record<string, string>>;

/** A row that only one of two files has, or that reads otherwise in the other. */
export interface RowDifference {
  readonly batchNo: string;
  /** Null where only the later file has it. */
  readonly before: Cells | null;
  /** Null where only the earlier file has it. */
  readonly after: Cells | null;
  /** Columns of both files whose cells differ; empty where only one has the row. */
  readonly changed: readonly string[];
}

/**
 * In the order of the statement, unless the files have to be read several times. Columns that only one of the files has
 * are not compared. Throws `NoStatement`, and what reading throws.
 */
export async function* differingRows(
  before: ComparedFile,
  after: ComparedFile,
  { heldMax = HELD_ROWS_MAX }: { readonly heldMax?: number } = {},
): AsyncGenerator<RowDifference> {
  const all = await onePass(before, after, () => true, heldMax);
  if (all !== null) return yield* all;
  // Each share is half of what can be held, so that one that is larger than its fellows still fits.
  const shares = Math.max(2, Math.ceil((2 * (before.rows + after.rows)) / heldMax));
  for (let share = 0; share < shares; share += 1) {
    yield* (await onePass(before, after, (batchNo) => shareOf(batchNo, shares) === share, Infinity))!;
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

interface Held {
  readonly record: string;
  /** Where it stands in its file. */
  readonly place: number;
}
type Placed = { readonly place: number; readonly difference: RowDifference };

/** The differences among the batch numbers asked for; null where they are more than can be held. */
async function onePass(
  before: ComparedFile,
  after: ComparedFile,
  isAsked: (batchNo: string) => boolean,
  heldMax: number,
): Promise<RowDifference[] | null> {
  const sides = { before: createSide(before), after: createSide(after) };
  const found: Placed[] = [];
  const common = before.columns.filter((column) => after.columns.includes(column));
  const isSpelledAlike = before.columns.join() === after.columns.join();
  const changedIn = (was: Cells, is: Cells) => common.filter((column) => was[column] !== is[column]);

  const take = (own: Side, other: Side, record: string, place: number): void => {
    const batchNo = own.batchNoOf(record);
    if (!isAsked(batchNo)) return;
    const twin = other.held.get(batchNo);
    if (twin === undefined) return void own.held.set(batchNo, { record, place });
    other.held.delete(batchNo);
    if (isSpelledAlike && twin.record === record) return;
    const [was, is] = own === sides.before ? [record, twin.record] : [twin.record, record];
    const [wasCells, isCells] = [sides.before.cells(was), sides.after.cells(is)];
    const changed = changedIn(wasCells, isCells);
    if (changed.length > 0)
      found.push({ place, difference: { batchNo, before: wasCells, after: isCells, changed } });
  };

  let place = 0;
  for await (const [was, is] of sideBySide(sides.before.records(), sides.after.records())) {
    place += 1;
    if (isSpelledAlike && was === is) continue;
    if (was !== null) take(sides.before, sides.after, was, place);
    if (is !== null) take(sides.after, sides.before, is, place);
    if (sides.before.held.size + sides.after.held.size + found.length > heldMax) return null;
  }
  for (const [batchNo, one] of sides.before.held) {
    const difference = { batchNo, before: sides.before.cells(one.record), after: null, changed: [] };
    found.push({ place: one.place, difference });
  }
  for (const [batchNo, one] of sides.after.held) {
    const difference = { batchNo, before: null, after: sides.after.cells(one.record), changed: [] };
    found.push({ place: one.place, difference });
  }
  return found.sort((a, b) => a.place - b.place).map(({ difference }) => difference);
}

type Side = ReturnType<typeof createSide>;

function createSide({ name, columns, bytes }: ComparedFile) {
  const key = columns.indexOf('batch_no');
  const cells = (record: string): Cells => {
    const values = cellsOf(record);
    if (values?.length !== columns.length)
      throw new NoStatement(name, `a row has not the columns ${columns.join()}`);
    return Object.fromEntries(columns.map((column, at) => [column, values[at]!]));
  };
  return {
    /** Rows that the other file has not brought yet. */
    held: new Map<string, Held>(),
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

/** Records of two files in pairs by their place; null where one has no more. */
async function* sideBySide(
  first: AsyncGenerator<readonly string[]>,
  second: AsyncGenerator<readonly string[]>,
): AsyncGenerator<readonly [string | null, string | null]> {
  const [left, right] = [reader(first), reader(second)];
  try {
    for (;;) {
      const one = left.ready() ?? (await left.more());
      const other = right.ready() ?? (await right.more());
      if (one === null && other === null) return;
      yield [one, other];
    }
  } finally {
    await Promise.all([first.return(undefined), second.return(undefined)]);
  }
}

function reader(batches: AsyncGenerator<readonly string[]>) {
  let batch: readonly string[] = [];
  let at = 0;
  const ready = (): string | undefined => batch[at++];
  const more = async (): Promise<string | null> => {
    for (;;) {
      const { value, done } = await batches.next();
      if (done === true) {
        [batch, at] = [[], 0];
        return null;
      }
      [batch, at] = [value, 0];
      const record = ready();
      if (record !== undefined) return record;
    }
  };
  return { ready, more };
}
