/**
 * What forms are sent to. Whether the person may send one is known before its body is read; what it asks for is done in turn: a person's
 * forms one after the other, few of all at once, so that waiting forms hold no connection of the database.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { cutText, storableText } from '../../../ledger/text.ts';
import { askedOf, PageRefusal, sendPage, type DoForm, type PagesContext, type SentFile } from './context.ts';
import { leavingOf } from './leaving.ts';
import { turnOf } from './turn.ts';

/** Most bytes of a form with a file. */
const FILE_BYTES_MAX = 10 * 1_048_576;
/** Most parts of a form with a file, and bytes of the lines above the content of a part: ours have three parts. */
const PARTS_MAX = 20;
const PART_HEAD_BYTES_MAX = 4_096;
/** Of a longer name, the beginning is kept. */
const FILE_NAME_CHARACTERS_MAX = 200;

/** As browsers write it: nothing but the boundary. */
const MULTIPART = /^multipart\/form-data; ?boundary=("?)([\w'()+,./:=?-]{1,70})\1$/i;

/**
 * Throws `PageRefusal` for more parts, or longer lines above the content of a part, than a form of ours has. What reads a form needs
 * seconds for thousands of them.
 */
function assertFewParts(contentType: string, body: Buffer): void {
  const boundary = MULTIPART.exec(contentType)?.[2];
  if (boundary === undefined) throw new PageRefusal(400);
  const mark = Buffer.from(`--${boundary}`);
  let parts = 0;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at)) {
    at += mark.length;
    parts += 1;
    const head = body.subarray(at, at + PART_HEAD_BYTES_MAX);
    const isLast = head.subarray(0, 2).toString('latin1') === '--';
    if (parts > PARTS_MAX || (!isLast && !head.includes('\r\n\r\n'))) throw new PageRefusal(400);
  }
}

const nameOf = ({ name }: File): string => cutText(storableText(name), FILE_NAME_CHARACTERS_MAX);

/** Reads forms that send a file. Its size is limited by the route. */
export function addFileForms(server: FastifyInstance): void {
  server.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const contentType = request.headers['content-type']!;
      assertFewParts(contentType, body);
      const headers = { 'content-type': contentType };
      // It holds the form in memory, which the route limits to a few MB.
      // oxlint-disable-next-line typescript/no-deprecated
      const form = await new Response(new Uint8Array(body), { headers }).formData().catch(() => {
        throw new PageRefusal(400);
      });
      const fields = new Map<string, string | SentFile>();
      for (const [name, value] of form)
        fields.set(
          name,
          typeof value === 'string' ? value : { name: nameOf(value), content: await value.bytes() },
        );
      return Object.fromEntries(fields);
    },
  );
}

export function addForm(
  server: FastifyInstance,
  context: PagesContext,
  path: string,
  submit: DoForm,
  { takesFile = false, ...options }: RouteShorthandOptions & { readonly takesFile?: boolean } = {},
): void {
  const { turns } = context;
  const assertMaySend = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const person = context.access.personOf(request);
    if (person.role !== 'operator') throw new PageRefusal(403, 'viewer');
    if (!takesFile) return;
    // A file that is being sent is held in memory.
    const sending = turnOf(request, person, leavingOf(reply), 'forms');
    await sending.take(turns.files);
    reply.raw.once('close', sending.leave);
    if (reply.raw.closed) sending.leave();
  };
  const form = { ...options, onRequest: assertMaySend, ...(takesFile && { bodyLimit: FILE_BYTES_MAX }) };
  server.post(path, form, async (request, reply) => {
    const asked = askedOf(context, request, reply);
    const turn = turnOf(request, asked.person, asked.left, 'forms');
    const result = await turn
      .take(takesFile ? turns.imports : turns.forms)
      .then(() => submit(context, asked))
      .catch((error: unknown) => {
        if (asked.left.aborted) return null;
        throw error;
      })
      .finally(turn.leave);
    // There is no one left to answer.
    if (result === null) return reply.hijack();
    if ('doneAt' in result) return reply.redirect(result.doneAt, 303);
    return 'page' in result ? sendPage(reply, result.page) : sendPage(reply.code(409), result.refusedPage);
  });
}
