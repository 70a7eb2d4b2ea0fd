/** What the routes of the pages stand on, and what each of them finds in a request. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { Kysely } from 'kysely';
import type { Access, Person } from '../access/access.ts';
import { dayOf } from '../../../ledger/business-day.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { isMerchantNo } from '../../../ledger/merchant-no.ts';
import type { ObjectStore } from '../../../objects/object-store.ts';
import { merchantOfPart } from '../html/addresses.ts';
import { createFormats, localeOf, type Format } from '../html/format.ts';
import { EN } from '../html/texts/en.ts';
import type { View } from '../html/view.ts';
import { leavingOf } from './leaving.ts';
import { createPace, createTurns, MACHINE_TIME, type Pace, type Timing, type Turns } from '../turns.ts';
import type { KnownJob } from '../../../run/health.ts';
import type { SettingsWithoutPlatform } from '../../../settings/settings.ts';
import type { DB } from '../../../store/engine/schema.ts';
import { namesOf } from '../../../store/names.ts';
import type { EntryLink } from '../../../web/pages.ts';
import { packageFile } from '../../../host/files.ts';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface PagesDeps {
  readonly access: Access;
  /** Whether `/logout` ends anything. */
  readonly canLogOut: boolean;
  /** What opens them where no login is set up. */
  readonly link: EntryLink | null;
  readonly db: Kysely<DB>;
  readonly objects: ObjectStore;
  readonly settings: Pick<
    SettingsWithoutPlatform,
    | 'platform'
    | 'schedule'
    | 'workers'
    | 'clockToleranceS'
    | 'signingKey'
    | 'statementMail'
    | 'alerts'
    | 'closeApproval'
    | 'books'
    | 'currencies'
    | 'bankCurrencies'
    | 'access'
    | 'connectionsMax'
  >;
  readonly zone: string;
  readonly jobs: readonly KnownJob[];
  readonly now: () => Date;
  /** How long people wait is measured by it. Default: the machine's. */
  readonly timing?: Timing;
}

export interface PagesContext extends PagesDeps {
  readonly timing: Timing;
  readonly turns: {
    /** At files that are made when they are asked for: XLSX, PDF, a month's ZIP. */
    readonly made: Turns;
    /** At files that lie in the store. */
    readonly sent: Turns;
    /** At files that are being sent to us. */
    readonly files: Turns;
    /** At files that are imported. */
    readonly imports: Turns;
    /** At what all other forms ask for. */
    readonly forms: Turns;
  };
  readonly pace: Pace;
  readonly assets: Assets;
  readonly formatOf: (locale: string, isExact: boolean) => Format;
}

/** Behind a proxy a request without an answer ends after a minute. */
const WAIT_MS_MAX = 45_000;
const MADE = { atOnce: 2, ofPersonAtOnce: 1, waitingOfPersonMax: 4, waitMsMax: WAIT_MS_MAX };
const SENT = { atOnce: 40, ofPersonAtOnce: 10, waitingOfPersonMax: 40, waitMsMax: WAIT_MS_MAX };
const FORMS = { ofPersonAtOnce: 1, waitingOfPersonMax: 10, waitMsMax: WAIT_MS_MAX };
/** The process that reads a workbook takes as much memory as this one leaves. */
const IMPORTS = { atOnce: 1, ofPersonAtOnce: 1, waitingOfPersonMax: 1, waitMsMax: WAIT_MS_MAX };
const AT_ONCE_MAX = 3;
/** A request has to be complete within 10 seconds. */
const FILES = { atOnce: 6, ofPersonAtOnce: 2, waitingOfPersonMax: 2, waitMsMax: 3_000 };

/** What forms and files ask for may wait for a lock of the database. Two thirds of its connections at most do, so that pages find one free. */
function workTurns(connections: number, timing: Timing): Pick<PagesContext['turns'], 'forms' | 'imports'> {
  const atOnce = Math.min(AT_ONCE_MAX, Math.max(1, Math.floor((connections - 1) / 3)));
  const forms = createTurns({ ...FORMS, atOnce }, timing);
  return { forms, imports: connections < 3 ? forms : createTurns(IMPORTS, timing) };
}

export const createPagesContext = ({ timing = MACHINE_TIME, ...deps }: PagesDeps): PagesContext => ({
  ...deps,
  timing,
  turns: {
    made: createTurns(MADE, timing),
    sent: createTurns(SENT, timing),
    files: createTurns(FILES, timing),
    ...workTurns(deps.settings.connectionsMax, timing),
  },
  pace: createPace(timing),
  assets: readAssets(),
  formatOf: createFormats(deps.zone),
});

/** A request that passed. */
export interface Asked {
  readonly view: View;
  readonly person: Person;
  /** A value of the query; null where it is not given or empty. The first one where it is given more than once. */
  readonly query: (name: string) => string | null;
  /** A value of the form; null as in the query. */
  readonly field: (name: string) => string | null;
  /** All values of the form under this name. */
  readonly fields: (name: string) => readonly string[];
  /** A file of the form; null where none was chosen. */
  readonly file: (name: string) => SentFile | null;
  /** A part of the path, decoded. */
  readonly part: (name: string) => string;
  readonly today: BusinessDay;
  /** Aborts when the client has left, or has everything. */
  readonly left: AbortSignal;
}

export function askedOf(context: PagesContext, request: FastifyRequest, reply: FastifyReply): Asked {
  const person = context.access.personOf(request);
  return {
    view: { ...viewOf(context, request), person, formToken: context.access.formToken(request, reply) },
    person,
    query: (name) => valueOf(request.query, name),
    field: (name) => valueOf(request.body, name),
    fields: (name) => valuesOf(request.body, name),
    file: (name) => fileOf(request.body, name),
    part: (name) => partOf(request.params as Readonly<Record<string, string>>, name),
    today: dayOf(context.now().getTime(), context.zone),
    left: leavingOf(reply),
  };
}

/** The view before login. */
export function viewOf(context: PagesContext, request: FastifyRequest): View {
  const isExact = valueOf(request.query, 'digits') === 'exact';
  return {
    texts: EN,
    format: context.formatOf(localeOf(request.headers['accept-language']), isExact),
    person: null,
    zone: context.zone,
    names: new Map(),
    address: request.url,
    isExact,
    stylesheet: context.assets.stylesheet.address,
    icon: context.assets.icon.address,
    copyScript: context.assets.copyScript.address,
    canLogOut: context.canLogOut,
    formToken: '',
  };
}

export interface SentFile {
  readonly name: string;
  readonly content: Uint8Array;
}

function fileOf(body: unknown, name: string): SentFile | null {
  const given = (body as Readonly<Record<string, unknown>> | null)?.[name];
  if (typeof given !== 'object' || given === null || !('content' in given)) return null;
  const file = given as SentFile;
  return file.content.length === 0 ? null : file;
}

function valuesOf(body: unknown, name: string): readonly string[] {
  const given = (body as Readonly<Record<string, unknown>> | null)?.[name];
  return [given]
    .flat()
    .filter((one): one is string => typeof one === 'string' && one !== '' && !one.includes(NUL));
}

function valueOf(values: unknown, name: string): string | null {
  const given = (values as Readonly<Record<string, unknown>> | null)?.[name];
  const first: unknown = Array.isArray(given) ? given[0] : given;
  return typeof first === 'string' && first !== '' && !first.includes(NUL) ? first : null;
}

/** No text of the database's has it, and none may be compared with it. */
const NUL = '\u0000';

function partOf(parts: Readonly<Record<string, string>>, name: string): string {
  const part = parts[name] ?? '';
  if (part.includes(NUL)) throw new PageRefusal(404);
  return part;
}

/** The merchant in the path. Throws `PageRefusal`, the same for out of scope and unknown ones. */
export function merchantIn({ part, person }: Asked, name = 'merchant'): string {
  const merchantNo = merchantOfPart(part(name));
  if (!isMerchantNo(merchantNo) || !maySee(person, merchantNo)) throw new PageRefusal(404);
  return merchantNo;
}

/** The view of a page that shows these merchants. */
export const withNames = async (
  { db }: Pick<PagesContext, 'db'>,
  view: View,
  merchants: readonly string[],
): Promise<View> =>
  merchants.length === 0 ? view : { ...view, names: await namesOf(db, [...new Set(merchants)]) };

/** The number in the path; 0, which nothing has, for what is none. */
export const idIn = ({ part }: Asked): number =>
  /^[1-9]\d{0,14}$/.test(part('id')) ? Number(part('id')) : 0;

/** Which page of a list is asked for, from 1 on. */
export const pageIn = (query: Asked['query']): number =>
  /^[1-9]\d{0,5}$/.test(query('page') ?? '') ? Number(query('page')) : 1;

export const maySee = ({ merchants }: Person, merchantNo: string): boolean =>
  merchants === null || merchants.includes(merchantNo);

/** The complete page that a request asks for. */
export type MakePage = (context: PagesContext, asked: Asked) => Promise<string>;

/** Does what a form of an operator asks for: where it leads then, the page that says why it was not done, or the one that says what was found. */
export type DoForm = (
  context: PagesContext,
  asked: Asked,
) => Promise<{ readonly doneAt: string } | { readonly refusedPage: string } | { readonly page: string }>;

export function addPage(
  server: FastifyInstance,
  context: PagesContext,
  path: string,
  make: MakePage,
  options: RouteShorthandOptions = {},
): void {
  server.get(path, options, async (request, reply) =>
    sendPage(reply, await make(context, askedOf(context, request, reply))),
  );
}

/** Pages are personal and change by the minute: never cached. */
export const sendPage = (reply: FastifyReply, page: string): FastifyReply =>
  reply
    .header('cache-control', 'no-store')
    .header('vary', 'accept-language, cookie')
    .type('text/html; charset=utf-8')
    .send(page);

/** Of a text that begins with a year. */
export const YEARS = /^(?:19|20|21)\d\d-/;

type Status = 400 | 403 | 404 | 429;

/** A request that gets no page, though nothing failed. */
export class PageRefusal extends Error {
  override readonly name = 'PageRefusal';
  readonly statusCode: Status;
  /** `viewer`: it needs an operator. `turns`, `forms`: too many downloads or forms wait. `pace`: too many requests of the person. */
  readonly why: 'viewer' | 'turns' | 'forms' | 'pace' | null;
  /** When to try again; null where that makes no difference. */
  readonly retryAfterS: number | null;

  constructor(statusCode: Status, why: PageRefusal['why'] = null, retryAfterS: number | null = null) {
    super(`refused with ${statusCode}`);
    this.statusCode = statusCode;
    this.why = why;
    this.retryAfterS = retryAfterS;
  }
}

/** A file that never changes under its address, which has a hash of its content in it. */
export interface Asset {
  readonly address: string;
  readonly bytes: Buffer;
  readonly contentType: string;
}

export interface Assets {
  readonly stylesheet: Asset;
  readonly icon: Asset;
  /** Of the page of a break alone. */
  readonly copyScript: Asset;
}

const HASH_CHARACTERS = 16;

/** Reads them; they are a few kB. */
const readAssets = (): Assets => ({
  stylesheet: assetOf('pages.css', 'text/css; charset=utf-8'),
  icon: assetOf('icon.svg', 'image/svg+xml'),
  copyScript: assetOf('copy.js', 'text/javascript; charset=utf-8'),
});

function assetOf(name: string, contentType: string): Asset {
  const bytes = readFileSync(packageFile(`src/plugins/pages/html/assets/${name}`));
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, HASH_CHARACTERS);
  return { address: `/assets/${hash}/${name}`, bytes, contentType };
}

/** Public: they hold no data, and the login page needs them. */
export function addAssets(server: FastifyInstance, assets: Assets): void {
  for (const { address, bytes, contentType } of Object.values(assets) as Asset[]) {
    server.get(address, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(contentType).send(bytes),
    );
  }
}
