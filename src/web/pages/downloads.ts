/** `/download/...`: the bytes of published files, each download on record with its person. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { firstBytes, joined } from '../../objects/object-store.ts';
import { formatNote, inFormat } from '../../statements/fetch-in-format.ts';
import { STATEMENT_FORMATS } from '../../statements/formats/all.ts';
import { CSV } from '../../statements/formats/csv.ts';
import type { StatementFormat } from '../../statements/formats/format.ts';
import { PDF } from '../../statements/formats/pdf.ts';
import { fileOf, nameIn } from '../../statements/keys.ts';
import type { Month } from '../../statements/month.ts';
import { monthDownload, monthPdfName } from '../../statements/month-files.ts';
import { monthOverview, monthPdf } from '../../statements/month-pdf.ts';
import { zippedMonth } from '../../statements/month-zip.ts';
import { recordAuditEvent } from '../../store/audit.ts';
import { CUT_DOWNLOAD, DOWNLOAD_COMMAND, monthSubject } from '../../store/pages/downloaded.ts';
import { statementOf, statementsOfDay } from '../../store/statements/statements.ts';
import { manifestOfDay } from '../../store/statements/stored-files.ts';
import { askedOf, merchantIn, type Asked, type PagesContext, PageRefusal } from './context.ts';
import { accountIn, dayIn } from './day.ts';
import { monthIn } from './months.ts';

/** What is made of a statement before anything of it is sent. */
const HELD_BYTES_MAX = 262_144;

export function addDownloads(server: FastifyInstance, context: PagesContext): void {
  // Who asks for the head alone gets nothing that could be downloaded.
  const options = { exposeHeadRoute: false };
  server.get('/download/:merchant/:currency/:day', options, async (request, reply) =>
    sendDay(context, askedOf(context, request, reply), reply),
  );
  server.get('/download/:merchant/:file', options, async (request, reply) =>
    sendMonth(context, askedOf(context, request, reply), reply),
  );
}

/**
 * A statement, verified while it is sent. An early failure is shown on a page; later the connection is cut, where
 * the store holds other bytes than were published, for example.
 */
async function sendDay(context: PagesContext, asked: Asked, reply: FastifyReply): Promise<FastifyReply> {
  const { db, objects } = context;
  const recordAs = recorder(context, asked);
  const [account, day] = [accountIn(asked), dayIn(asked.part('day'))];
  const format = formatIn(asked);
  const revision = revisionIn(asked.query('revision'));
  const statement = await statementOf(db, account, day, revision);
  if (statement === undefined) throw new PageRefusal(404);
  const name = nameIn(format, fileOf(statement.object_key));
  const recorded = await manifestOfDay(db, account.merchantNo, day);
  const ofDay = await statementsOfDay(db, account.merchantNo, day);
  const { read } = inFormat(objects, statement, format, { recorded, ofDay });
  const { bytes, rest } = await firstBytes(read(), HELD_BYTES_MAX);
  return send(reply, recordAs(statement.object_key, joined(bytes, rest), formatNote(format)), {
    name,
    contentType: format.contentType,
  });
}

/** A merchant's month: all of its files as a ZIP, or its overview as PDF. */
async function sendMonth(context: PagesContext, asked: Asked, reply: FastifyReply): Promise<FastifyReply> {
  const merchantNo = merchantIn(asked);
  const [, name = '', extension] = /^(\d{4}-\d{2})\.(zip|pdf)$/.exec(asked.part('file')) ?? [];
  if (name === '') throw new PageRefusal(404);
  const month = { merchantNo, month: monthIn(name) };
  return extension === 'pdf'
    ? sendMonthPdf(context, asked, reply, month)
    : sendMonthZip(context, asked, reply, month);
}

interface MerchantMonthAsked {
  readonly merchantNo: string;
  readonly month: Month;
}

async function sendMonthZip(
  context: PagesContext,
  asked: Asked,
  reply: FastifyReply,
  { merchantNo, month }: MerchantMonthAsked,
): Promise<FastifyReply> {
  const { db, objects, now } = context;
  const recordAs = recorder(context, asked);
  const format = formatIn(asked);
  const { accounts, files } = await monthDownload(
    { db, objects, format, now },
    { merchantNo, month, currencies: null, now },
  );
  if (files.length === 0) throw new PageRefusal(404);
  const inFormat = format.name === CSV.name ? '' : `-${format.name}`;
  const zip = zippedMonth(month, accounts, files);
  return send(reply, recordAs(monthSubject(month.name, merchantNo), zip, formatNote(format)), {
    name: `statements-${month.name}-${merchantNo}${inFormat}.zip`,
    contentType: 'application/zip',
  });
}

async function sendMonthPdf(
  context: PagesContext,
  asked: Asked,
  reply: FastifyReply,
  { merchantNo, month }: MerchantMonthAsked,
): Promise<FastifyReply> {
  const { db, now } = context;
  const recordAs = recorder(context, asked);
  const overview = await monthOverview(db, { merchantNo, month, currencies: null, now });
  if (overview === null) throw new PageRefusal(404);
  const name = monthPdfName(month, merchantNo);
  // Recorded under its own name: it is no statement, so no statement counts as downloaded.
  return send(reply, recordAs(name, monthPdf(overview)), { name, contentType: PDF.contentType });
}

/** Throws `PageRefusal` for an unknown one. */
function formatIn(asked: Asked): StatementFormat {
  const format = STATEMENT_FORMATS.find(({ name }) => name === (asked.query('format') ?? CSV.name));
  if (format === undefined) throw new PageRefusal(404);
  return format;
}

/**
 * Records the download with the person, as of now, before it ends. One that ends early (other bytes in the store, or a closed
 * connection) is recorded as incomplete.
 */
function recorder({ db, now }: PagesContext, { person }: Asked) {
  const at = now();
  return async function* (
    subject: string,
    bytes: AsyncIterable<Uint8Array>,
    ofFormat?: string,
  ): AsyncGenerator<Uint8Array> {
    let isComplete = false;
    try {
      yield* bytes;
      isComplete = true;
    } finally {
      const note = isComplete ? ofFormat : [CUT_DOWNLOAD, ofFormat].filter(Boolean).join(', ');
      await recordAuditEvent(db, { by: person.name, command: DOWNLOAD_COMMAND, subject, note }, at);
    }
  };
}

/** Merchant numbers, currencies and days make the name, so it needs no quoting. */
const send = (
  reply: FastifyReply,
  bytes: AsyncIterable<Uint8Array>,
  { name, contentType }: { readonly name: string; readonly contentType: string },
): FastifyReply =>
  reply
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${name}"`)
    .type(contentType)
    .send(Readable.from(bytes));

function revisionIn(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new PageRefusal(404);
  return Number(text);
}
