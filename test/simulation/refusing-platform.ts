/** The platform of a history of refusals: honest books over HTTP, of which any call may be refused in any form. */
import { createHash } from 'node:crypto';
import {
  entriesOfAmounts,
  startPlainPlatform,
  type WireCall,
  type WireEntry,
  type WireReply,
} from '../support/plain-platform.ts';
import { booksOf, FIRST_DAY } from './books.ts';
import type { RefusalCase } from './refusal-cases.ts';

const DAY_MS = 86_400_000;

/** What was answered to a call. */
export interface Answered {
  readonly call: WireCall;
  readonly isRefused: boolean;
  /** Entries that match, as the honest reply counts them. */
  readonly total: number;
}

type Fields = Readonly<Record<string, unknown>>;

const NO = { respCode: 'E99999', respMsg: 'system busy' };
const LISTS = ['bank', 'occupation', 'business_nature', 'purpose', 'payout_method'];

const listOf = ({ body: { metaType, countryCode } }: WireCall): Fields => ({
  metaDataList: [1, 2, 3].map((nth) => ({
    code: `${countryCode === undefined ? 'X' : 'CN'}${LISTS.indexOf(metaType as string)}${nth}`,
    name: `item ${nth} of ${metaType as string}`,
    type: metaType === 'payout_method' ? 'BANK' : undefined,
  })),
});

const emptyOf = ({ code }: WireCall): Fields =>
  code === 'sp2502' ? { metaDataList: [] } : { pageNum: 1, pageSize: 100, total: 0, list: [] };

/** The first half of an honest reply. */
function cutOf(honest: Fields): Fields {
  const [name, list] = Object.entries(honest).find(([, value]) => Array.isArray(value)) as [
    string,
    unknown[],
  ];
  const half = list.slice(0, Math.floor(list.length / 2));
  return { ...honest, [name]: half, ...('total' in honest && { total: half.length }) };
}

const othersPage = (): Fields => {
  const [other] = entriesOfAmounts('USD', [['Z1', `${FIRST_DAY} 10:00:00`, 900]]);
  return { pageNum: 1, pageSize: 100, total: 1, list: [{ ...other, atMs: undefined }] };
};

function refusal({ form, salt }: RefusalCase, honest: Fields, call: WireCall): WireReply {
  const empty = emptyOf(call);
  const ok = (body: unknown): WireReply => ({ status: 200, body });
  switch (form) {
    case 'code':
      return ok({ ...NO, ...empty });
    case 'codeInData':
      return ok({ data: { ...NO, ...empty } });
    case 'status':
      return ok({ status: 'FAIL', ...empty });
    case 'flag':
      return ok({ success: false, ...empty });
    case 'honestList':
      return ok({ ...NO, ...honest });
    case 'cutList':
      return ok({ ...NO, ...cutOf(honest) });
    case 'othersBody':
      return ok({
        ...NO,
        ...(call.code === 'sp2502' ? { metaDataList: [{ code: 'Z', name: 'z' }] } : othersPage()),
      });
    case 'errorDocument':
      return ok('<html><body>system busy</body></html>');
    case 'http500':
      return { status: 500, body: empty };
    case 'unavailable':
      return { status: salt % 2 === 0 ? 429 : 503, body: empty };
    case 'wordsAlone':
      return ok({ respMsg: 'system busy' });
    case 'paddedCode':
      return ok({ respCode: ' e99999 ', ...empty });
    case 'nullList':
      return ok({ ...NO, total: null, list: null, metaDataList: null });
    case 'errorObject':
      return ok({ error: { text: 'system busy' }, ...empty });
  }
}

/** A number from 0 to 99 that the text decides. */
const chanceOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE() % 100;

/** Whether the nth call of a night is refused. */
function isRefused({ pattern, n, salt }: RefusalCase, { body, code }: WireCall, nth: number): boolean {
  const [beginMs, endMs] = [Number(body['beginDate']), Number(body['endDate'])];
  const hasFilter = body['currency'] !== undefined || body['batchNo'] !== undefined;
  switch (pattern) {
    case 'every':
      return true;
    case 'nth':
      return nth % ((n % 4) + 2) === 0;
    case 'from':
      return nth >= n % 12;
    case 'laterPages':
      return Number(body['pageNum'] ?? 1) > 1;
    case 'filtered':
      return code === 'sp2404' && hasFilter;
    case 'unfiltered':
      return code === 'sp2404' && !hasFilter;
    case 'long':
      return endMs - beginMs > ((n % 5) + 1) * DAY_MS;
    case 'share':
      return chanceOf(`${salt} ${nth}`) < n;
    case 'byQuery':
      return chanceOf(`${salt} ${JSON.stringify(body)}`) < n;
  }
}

/** Serves one case after the other; `now` is the instant at which the books are shown. */
export async function startRefusingPlatform() {
  const platform = await startPlainPlatform();
  let drawn: RefusalCase;
  let books: readonly WireEntry[] = [];
  let nowMs = 0;
  let refuses = false;
  let answered: Answered[] = [];
  const wrapped = (honest: Fields): Fields => {
    if (drawn.envelope === 'code') return { respCode: 'S00000', respMsg: 'success', ...honest };
    return drawn.envelope === 'data' ? { code: 0, data: honest } : honest;
  };
  platform.entriesOf = () => books.filter(({ atMs }) => atMs <= nowMs);
  platform.alter = ({ body }, call) => {
    const honest = call.code === 'sp2502' ? listOf(call) : (body as Fields);
    const refused = refuses && isRefused(drawn, call, answered.length + 1);
    answered.push({ call, isRefused: refused, total: Number(honest['total'] ?? 0) });
    return refused ? refusal(drawn, honest, call) : { status: 200, body: wrapped(honest) };
  };
  return {
    url: platform.url,
    begin: (next: RefusalCase): void => {
      drawn = next;
      books = booksOf(next);
    },
    /** What follows happens at this instant. */
    set: (ms: number, isRefusing: boolean): void => {
      nowMs = ms;
      refuses = isRefusing;
      platform.calls.length = 0;
      answered = [];
    },
    answered: (): readonly Answered[] => answered,
    close: platform.close,
  };
}

export type RefusingPlatform = Awaited<ReturnType<typeof startRefusingPlatform>>;
