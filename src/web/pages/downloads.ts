/** `/download/...`: the bytes of published files, each download on record with its person. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { inFormat } from '../../statements/fetch-in-format.ts';
import { STATEMENT_FORMATS } from '../../statements/formats/all.ts';
import { CSV } from '../../statements/formats/csv.ts';
import { fileOf, nameIn } from '../../statements/keys.ts';
import { merchantMonth } from '../../statements/month-files.ts';
import { zippedMonth } from '../../statements/month-zip.ts';
import { recordDeed } from '../../store/audit.ts';
import { DOWNLOAD_COMMAND, monthSubject } from '../../store/pages/downloaded.ts';
import { statementOf, statementsOfDay } from '../../store/statements/statements.ts';
import { manifestOfDay } from '../../store/statements/stored-files.ts';
import { askedOf, merchantIn, type Asked, type PagesContext } from './context.ts';
import { accountIn, dayIn } from './day.ts';
import { monthIn } from './months.ts';
import { PageRefusal } from './page-refusal.ts';

export function addDownloads(server: FastifyInstance, context: PagesContext): void {
  server.get('/download/:merchant/:currency/:day', async (request, reply) =>
    sendDay(context, askedOf(context, request, reply), reply),
  );
  server.get('/download/:merchant/:file', async (request, reply) =>
    sendMonth(context, askedOf(context, request, reply), reply),
  );
}

/** A statement, checked on its way: the connection is cut where the store holds other bytes than were published. */
async function sendDay(context: PagesContext, asked: Asked, reply: FastifyReply): Promise<FastifyReply> {
  const { db, objects } = context;
  const [account, day] = [accountIn(asked), dayIn(asked.part('day'))];
  const format = STATEMENT_FORMATS.find(({ name }) => name === (asked.query('format') ?? CSV.name));
  const revision = revisionIn(asked.query('revision'));
  const statement = await statementOf(db, account, day, revision);
  if (statement === undefined || format === undefined) throw new PageRefusal(404);
  await record(context, asked, statement.object_key);
  const name = nameIn(format, fileOf(statement.object_key));
  const recorded = await manifestOfDay(db, account.merchantNo, day);
  const ofDay = await statementsOfDay(db, account.merchantNo, day);
  const { read } = inFormat(objects, statement, format, { recorded, ofDay });
  return send(reply, read(), { name, contentType: format.contentType });
}

async function sendMonth(context: PagesContext, asked: Asked, reply: FastifyReply): Promise<FastifyReply> {
  const { db, objects } = context;
  const merchantNo = merchantIn(asked);
  const [, name = ''] = /^(\d{4}-\d{2})\.zip$/.exec(asked.part('file')) ?? [];
  if (name === '') throw new PageRefusal(404);
  const month = monthIn(name);
  const { accounts, files } = await merchantMonth({ db, objects, format: CSV }, merchantNo, month, null);
  if (files.length === 0) throw new PageRefusal(404);
  await record(context, asked, monthSubject(month.name, merchantNo));
  return send(reply, zippedMonth(month, accounts, files), {
    name: `statements-${month.name}-${merchantNo}.zip`,
    contentType: 'application/zip',
  });
}

const record = async ({ db, now }: PagesContext, { person }: Asked, subject: string): Promise<number> =>
  recordDeed(db, { by: person.name, command: DOWNLOAD_COMMAND, subject }, now());

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
