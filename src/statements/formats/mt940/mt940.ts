/** Statements as SWIFT MT940, for older ERPs: docs/decisions/formats.md. */
import type { RowCells, StatementDay, StatementFormat } from '../format.ts';
import { bankAmounts, ofEntry, type BankAmounts, notesOf } from '../bank-amounts.ts';
import { placesOf, type Places } from '../columns.ts';
import { sha256Of } from '../../../host/sha256.ts';
import { createMessages, swiftAmount } from './messages.ts';
import { linesOf, swiftText } from './swift-text.ts';

const END = '\r\n';
const REFERENCE_MAX = 16;

/** An entry's fields 61 and 86, and whether its texts had to be spelled otherwise. */
interface Entry {
  readonly text: string;
  readonly isSpelled: boolean;
}

/**
 * The reference of an entry: its batch number, if that fits and holds no slash that would end the field; otherwise its
 * beginning and a digest, so that different numbers stay different.
 */
function referenceOf(batchNo: string, spelled: string): string {
  const fits = spelled.length <= REFERENCE_MAX && !/^[/ ]|[/ ]$|\/\//.test(spelled);
  if (fits && spelled === batchNo) return spelled;
  const beginning = spelled.replace(/[^A-Za-z0-9]/g, '').slice(0, REFERENCE_MAX - 9);
  return `${beginning}.${sha256Of(batchNo).slice(0, 8).toUpperCase()}`;
}

function entryOf(day: StatementDay, cells: RowCells, at: Places, { inUnits }: BankAmounts): Entry {
  const [batchNo, bookedAt, type] = [cells[at.batchNo]!, cells[at.bookedAt]!, cells[at.type] ?? ''];
  const credit = cells[at.credit]!;
  const [, month, date] = bookedAt.slice(0, 10).split('-');
  const booked = `${bookedAt.slice(2, 4)}${month!}${date!}${month!}${date!}`;
  const spelled = swiftText(batchNo);
  const details = `${spelled} ${bookedAt.slice(11)} ${swiftText(type)}`.trimEnd();
  const sent = credit || cells[at.debit]!;
  const amount = swiftAmount(
    day,
    inUnits(sent, () => ofEntry(sent, batchNo)),
  );
  return {
    text:
      `:61:${booked}${credit === '' ? 'D' : 'C'}${amount}NMSCNONREF//${referenceOf(batchNo, spelled)}${END}` +
      `:86:${linesOf(details).join(END)}${END}`,
    isSpelled: details !== `${batchNo} ${bookedAt.slice(11)} ${type}`.trimEnd(),
  };
}

/** What a reader has to know of the day, and what it replaces. */
function about({ published, earlier }: StatementDay, spelled: number): string {
  const { revision, reason } = published;
  const before = earlier.at(-1);
  return swiftText(
    [
      `daybook revision ${revision}`,
      ...notesOf(published),
      ...(spelled > 0 ? [`texts of ${spelled} entries are spelled in the characters of SWIFT`] : []),
      ...(before === undefined
        ? []
        : [`replaces revision ${before.revision}: ${reason ?? 'entries changed'}`]),
    ].join(', '),
  );
}

async function* write(day: StatementDay): AsyncGenerator<Uint8Array> {
  const at = placesOf(day.columns);
  const amounts = bankAmounts(day, 'mt940');
  await amounts.checkFigures(at);
  const messages = createMessages(day);
  let spelled = 0;
  for await (const rows of day.rows) {
    for (const cells of rows) {
      const { text, isSpelled } = entryOf(day, cells, at, amounts);
      messages.add(text, cells[at.balance]!);
      if (isSpelled) spelled += 1;
    }
    yield Buffer.from(messages.given());
  }
  messages.end(`:86:${linesOf(about(day, spelled)).join(END)}${END}`);
  yield Buffer.from(messages.given());
}

export const MT940: StatementFormat = {
  name: 'mt940',
  extension: 'mt940',
  contentType: 'text/plain; charset=us-ascii',
  canBePublished: true,
  write,
};
