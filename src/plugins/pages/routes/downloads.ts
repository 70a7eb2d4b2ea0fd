/** `/download/...`: the bytes of published files, each download on record with its person. */
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { firstBytes, joined, type ObjectStore } from '../../../objects/object-store.ts';
import { accountMonthFile } from '../../../months/account-month.ts';
import { changesBetween } from '../../../months/changes-since.ts';
import { formatNote, inFormat } from '../../../statements/fetch.ts';
import { formatWith, MONTH_FORMATS, STATEMENT_FORMATS } from '../../../statements/formats/all.ts';
import { CSV } from '../../../statements/formats/csv.ts';
import type { StatementFormat } from '../../../statements/formats/format.ts';
import { fileOf } from '../../../verify/names.ts';
import { monthZipName, nameIn, overviewName } from '../../../statements/keys.ts';
import { monthDownload, zippedMonth } from '../../../months/month-files.ts';
import { accountMonths, type Month } from '../../../months/month.ts';
import { recordAuditEvent } from '../../../store/audit.ts';
import { CUT_DOWNLOAD, DOWNLOAD_COMMAND, monthSubject } from '../../../store/downloaded.ts';
import { namesOfMerchant } from '../../../store/names.ts';
import { statementOf, statementsOfDay } from '../../../store/statements/statements.ts';
import { manifestOfDay } from '../../../store/statements/stored-files.ts';
import type { Timing } from '../turns.ts';
import { askedOf, merchantIn, type Asked, type PagesContext, PageRefusal } from './context.ts';
import { accountIn, dayIn } from './day.ts';
import { searchFile } from './entry.ts';
import { monthIn } from './home.ts';
import { turnOf, type TakeTurn } from './turn.ts';

/** What is made of a statement before anything of it is sent. */
const HELD_BYTES_MAX = 262_144;

interface Download {
  /** Default: that of statements. */
  readonly command?: string;
  /** What the audit names. */
  readonly subject: string;
  readonly note?: string | undefined;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Of encoded merchant numbers, currencies and days, so it needs no quoting. */
  readonly name: string;
  readonly contentType: string;
}

/** A download may wait for its client this long, and a second more for each so many bytes that went out. */
const PATIENCE_MS = 30_000;
const BYTES_PER_S_MIN = 65_536;

type MakeDownload = (context: PagesContext, asked: Asked, takeTurn: TakeTurn) => Promise<Download>;

const DOWNLOADS: Readonly<Record<string, MakeDownload>> = {
  '/download/:merchant/:currency/:day': dayFile,
  '/download/:merchant/:file': monthFile,
  '/entry.csv': entriesFile,
};

export function addDownloads(server: FastifyInstance, context: PagesContext): void {
  for (const [path, make] of Object.entries(DOWNLOADS)) {
    // Who asks for the head alone gets nothing that could be downloaded.
    server.get(path, { exposeHeadRoute: false }, async (request, reply) => {
      const asked = askedOf(context, request, reply);
      const at = context.now();
      const { left, person } = asked;
      const turn = turnOf(request, person, left, 'turns');
      const download = await make(
        { ...context, objects: stoppedBy(left, context.objects) },
        asked,
        turn.take,
      ).catch((error: unknown) => {
        turn.leave();
        if (left.aborted) return null;
        throw error;
      });
      // There is no one left to answer.
      if (download === null) return reply.hijack();
      const cut = () => void reply.raw.destroy();
      const bytes = patient(recorded(context, asked, download, at), context.timing, cut);
      if (left.aborted) {
        // What was opened is closed by whoever began to read it.
        await bytes.next();
        await bytes.return(undefined);
        turn.leave();
        return reply.hijack();
      }
      return reply
        .header('cache-control', 'no-store')
        .header('content-disposition', `attachment; filename="${download.name}"`)
        .type(download.contentType)
        .send(Readable.from(bytes, { objectMode: false }).once('close', turn.leave));
    });
  }
}

/** The same store, whose files end with the signal's reason once it is aborted. All that is made is made of them. */
const stoppedBy = (signal: AbortSignal, objects: ObjectStore): ObjectStore => ({
  ...objects,
  get: async (key) => {
    signal.throwIfAborted();
    const bytes = await objects.get(key);
    return bytes && untilAborted(bytes, signal);
  },
});

async function* untilAborted(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    signal.throwIfAborted();
    yield chunk;
  }
}

/** The same bytes. Calls `cut` where the client takes them too slowly: what it keeps, others wait for. */
async function* patient(
  bytes: AsyncIterable<Uint8Array>,
  { clock, later }: Timing,
  cut: () => void,
): AsyncGenerator<Uint8Array> {
  let [takenMs, sent] = [0, 0];
  for await (const chunk of bytes) {
    sent += chunk.byteLength;
    const beganMs = clock();
    const callOff = later(PATIENCE_MS + (sent / BYTES_PER_S_MIN) * 1_000 - takenMs, cut);
    try {
      yield chunk;
    } finally {
      callOff();
    }
    takenMs += clock() - beganMs;
  }
}

/**
 * A statement, verified while it is sent. An early failure is shown on a page; later the connection is cut, where
 * the store holds other bytes than were published, for example.
 */
async function dayFile(
  { db, objects, turns, settings }: PagesContext,
  asked: Asked,
  takeTurn: TakeTurn,
): Promise<Download> {
  const [account, day] = [accountIn(asked), dayIn(asked.part('day'))];
  const format = formatIn(asked, settings);
  const statement = await statementOf(db, account, day, revisionIn(asked.query('revision')));
  if (statement === undefined) throw new PageRefusal(404);
  const manifest = await manifestOfDay(db, account.merchantNo, day);
  const ofDay = await statementsOfDay(db, account.merchantNo, day);
  const names = await namesOfMerchant(db, account.merchantNo);
  const since = revisionIn(asked.query('since'));
  if (since !== undefined) {
    const before = ofDay.find((one) => one.currency === account.currency && one.revision === since);
    if (before === undefined || since > statement.revision || format.holdsChanges !== true)
      throw new PageRefusal(404);
    await takeTurn(turns.made);
    const { name, read } = await changesBetween(objects, before, statement, { format, names });
    return {
      subject: statement.object_key,
      note: [`changes since revision ${since}`, formatNote(format)].filter(Boolean).join(' '),
      ...{ bytes: read(), name, contentType: format.contentType },
    };
  }
  const { isPublished, read } = inFormat(objects, statement, format, { recorded: manifest, ofDay, names });
  await takeTurn(isPublished ? turns.sent : turns.made);
  const { bytes, rest } = await firstBytes(read(), HELD_BYTES_MAX);
  return {
    subject: statement.object_key,
    note: formatNote(format),
    bytes: joined(bytes, rest),
    name: nameIn(format, fileOf(statement.object_key)),
    contentType: format.contentType,
  };
}

/**
 * A merchant's month: all of its files as a ZIP, its overview in a format that makes one, or all accounts in one file; with
 * `currency`, one account's in a format that holds a month.
 */
async function monthFile(context: PagesContext, asked: Asked, takeTurn: TakeTurn): Promise<Download> {
  const { db, objects, now, turns, settings } = context;
  const merchantNo = merchantIn(asked);
  const [, monthName = '', extension = ''] = /^(\d{4}-\d{2})\.([\w.]+)$/.exec(asked.part('file')) ?? [];
  if (monthName === '') throw new PageRefusal(404);
  const month = monthIn(monthName);
  if (asked.query('currency') !== null) return accountMonth(context, asked, { month, extension }, takeTurn);
  if (extension !== 'zip') return overview(context, { merchantNo, month, extension }, takeTurn);
  const format = formatIn(asked, settings);
  await takeTurn(turns.made);
  const { accounts, files } = await monthDownload({ db, objects, format, now }, merchantNo, month, null);
  if (files.length === 0) throw new PageRefusal(404);
  const ending = format.name === CSV.name ? '' : `-${format.name}`;
  return {
    subject: monthSubject(month.name, [merchantNo]),
    note: formatNote(format),
    bytes: zippedMonth(month, accounts, files),
    name: monthZipName(month.name, [merchantNo], ending),
    contentType: 'application/zip',
  };
}

async function overview(
  { db, objects, now, turns }: PagesContext,
  {
    merchantNo,
    month,
    extension,
  }: { readonly merchantNo: string; readonly month: Month; readonly extension: string },
  takeTurn: TakeTurn,
): Promise<Download> {
  const asked = { merchantNo, month: month.name, currencies: null, now };
  await takeTurn(turns.made);
  const book = MONTH_FORMATS.find((one) => one.extension === extension);
  if (book !== undefined) {
    const bytes = await book.make({ db, objects }, asked);
    if (bytes === null) throw new PageRefusal(404);
    const name = overviewName(book, month.name, merchantNo);
    const subject = monthSubject(month.name, [merchantNo]);
    return { subject, note: `as ${book.name}`, bytes, name, contentType: book.contentType };
  }
  const format = STATEMENT_FORMATS.find((one) => one.extension === extension);
  const bytes = await format?.month?.(db, asked);
  if (format === undefined || !bytes) throw new PageRefusal(404);
  // Recorded under its own name: it is no statement, so no statement counts as downloaded.
  const name = overviewName(format, month.name, merchantNo);
  return { subject: name, bytes, name, contentType: format.contentType };
}

async function accountMonth(
  { db, objects, turns, settings }: PagesContext,
  asked: Asked,
  { month, extension }: { readonly month: Month; readonly extension: string },
  takeTurn: TakeTurn,
): Promise<Download> {
  const currency = asked.query('currency')!;
  const merchantNo = merchantIn(asked);
  const known = STATEMENT_FORMATS.find((one) => one.holdsMonth && one.extension === extension);
  if (known === undefined) throw new PageRefusal(404);
  const format = formatWith(known, settings.bankCurrencies);
  const [account] = (await accountMonths(db, merchantNo, month, [currency])).accounts;
  if (account === undefined || account.statements.length === 0) throw new PageRefusal(404);
  await takeTurn(turns.made);
  const names = await namesOfMerchant(db, merchantNo);
  const { name, read } = accountMonthFile(objects, account, month, { format, names });
  const { bytes, rest } = await firstBytes(read(), HELD_BYTES_MAX);
  return {
    subject: monthSubject(month.name, [merchantNo], [currency]),
    note: formatNote(format),
    ...{ bytes: joined(bytes, rest), name, contentType: format.contentType },
  };
}

/** What a search finds, as CSV with the columns of a statement. */
async function entriesFile(context: PagesContext, asked: Asked, takeTurn: TakeTurn): Promise<Download> {
  const file = searchFile(context, asked);
  await takeTurn(context.turns.made);
  return file;
}

/** Throws `PageRefusal` for an unknown one. */
function formatIn(asked: Asked, { bankCurrencies }: PagesContext['settings']): StatementFormat {
  const format = STATEMENT_FORMATS.find(({ name }) => name === (asked.query('format') ?? CSV.name));
  if (format === undefined) throw new PageRefusal(404);
  return formatWith(format, bankCurrencies);
}

/**
 * Records the download with the person before it ends. One that ends early (other bytes in the store, or a closed
 * connection) is recorded as incomplete.
 */
async function* recorded(
  { db }: PagesContext,
  { person }: Asked,
  { command = DOWNLOAD_COMMAND, subject, note: ofFormat, bytes }: Download,
  at: Date,
): AsyncGenerator<Uint8Array> {
  let isComplete = false;
  try {
    yield* bytes;
    isComplete = true;
  } finally {
    const note = isComplete ? ofFormat : [CUT_DOWNLOAD, ofFormat].filter(Boolean).join(', ');
    await recordAuditEvent(db, { by: person.name, command, subject, note }, at);
  }
}

function revisionIn(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new PageRefusal(404);
  return Number(text);
}
