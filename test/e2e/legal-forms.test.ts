/** Whatever legal form the platform writes its ledger in, the published files are the same, byte for byte. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Hostility } from '../../src/plugins/sandbox/behaviour.ts';
import type { Latitude } from '../../src/plugins/sandbox/latitude.ts';
import { entriesOfAmounts } from '../support/plain-platform.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';
import { shortAndLong } from '../support/short-and-long.ts';
import {
  FROM,
  MERCHANT,
  objectsOf,
  openStage,
  scenario,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';

const open: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const stage of open.splice(0)) await stage.close();
});

async function stageOf(
  latitude: Partial<Latitude> = {},
  hostility: Partial<Hostility> = {},
  burst = 130,
): Promise<Stage> {
  const planted = [
    {
      what: 'burst',
      merchant: MERCHANT.merchantNo,
      currency: 'USD',
      day: FROM,
      nth: 9,
      count: burst,
    } as const,
  ];
  const stage = await openStage({ scenario: scenario({ entriesPerDay: 60, planted, latitude, hostility }) });
  open.push(stage);
  return stage;
}

async function csvOf(stage: Stage): Promise<[string, string][]> {
  return [...(await objectsOf(stage))].filter(([key]) => key.endsWith('.csv'));
}

/** What the plain form gives, for each way to write numbers of entries. */
const plain = new Map<string, Promise<[string, string][]>>();
function plainCsv(batchNo: 'letters' | 'digits'): Promise<[string, string][]> {
  const known =
    plain.get(batchNo) ?? stageOf({ batchNo }).then(async (stage) => (await stage.run(), csvOf(stage)));
  plain.set(batchNo, known);
  return known;
}

const FORMS: readonly Partial<Latitude>[] = [
  { pageSizeEcho: 'entries' },
  { emptyPage: 'zero' },
  { emptyPage: 'null' },
  { pageBeyond: 'last' },
  { batchNo: 'number' },
  { amounts: 'grouped' },
  { noAmount: 'empty' },
  { currencyCase: 'lower' },
  { secondParts: 'thousandths' },
  { envelope: 'list' },
  { envelope: 'text' },
  { envelope: 'nested' },
  { amounts: 'text' },
  { noAmount: 'zero' },
  { noAmount: 'left-out' },
  { secondParts: 'zeros' },
  {
    pageSizeEcho: 'entries',
    emptyPage: 'zero',
    pageBeyond: 'last',
    envelope: 'text',
    fieldOrder: 'reversed',
  },
  {
    ...{
      batchNo: 'number',
      amounts: 'grouped',
      noAmount: 'empty',
      currencyCase: 'lower',
      secondParts: 'thousandths',
    },
    ...{ envelope: 'list', pageSizeEcho: 'entries', emptyPage: 'null', moreFields: true },
  },
];

describe('a ledger', () => {
  test.each(FORMS)('as %j gives the files of the plain form', async (form) => {
    const stage = await stageOf(form);
    expect(await stage.run()).toMatchObject({ exitCode: 0 });
    // Days without entries, whose page is empty.
    expect(await stage.run({ range: { from: '2026-02-20', to: '2026-02-22' } })).toMatchObject({
      exitCode: 0,
    });
    const files = await csvOf(stage);
    expect(files).toEqual(await plainCsv(form.batchNo === 'number' ? 'digits' : 'letters'));
    expect(files).toHaveLength(12);
  });

  for (const { options, cases } of shortAndLong<Partial<Latitude>>([
    {
      ...{ amounts: 'grouped', noAmount: 'empty', currencyCase: 'lower', secondParts: 'thousandths' },
      ...{ batchNo: 'number', pageSizeEcho: 'entries' },
    },
    { amounts: 'text', noAmount: 'zero', secondParts: 'zeros', batchNo: 'number' },
  ]))
    test.each(cases)('that turns to the form %j has no changed entry', options, async (form) => {
      const stage = await stageOf({ batchNo: 'digits' });
      await stage.run();
      const before = await objectsOf(stage);
      const written = stage.sandbox.scenario.latitude;
      for (const now of [form, { ...written }]) {
        Object.assign(written, now);
        const again = await stage.run();
        expect(again).toMatchObject({ exitCode: 0, publish: { published: [], withheld: [] } });
        expect(again.sync[0]!.report).toMatchObject({ inserted: 0, amended: 0, vanished: 0, quarantined: 0 });
        expect(await objectsOf(stage)).toEqual(before);
      }
    });
});

describe('a platform that puts fewer entries on a page than it was asked for', () => {
  test.each([
    [50, {}],
    [7, {}],
    [50, { pageSizeEcho: 'entries', pageBeyond: 'last' } as const],
  ])('%d at most, %j, is copied exactly, by shorter windows', async (pageSizeMax, latitude) => {
    const stage = await stageOf(latitude, { pageSizeMax }, 3);
    expect(await stage.run()).toMatchObject({ exitCode: 0 });
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });

  test('and has more in one second than on a page: that day is not proven and not published, the others are', async () => {
    const stage = await stageOf({}, { pageSizeMax: 50 }, 60);
    const report = await stage.run();
    expect(report.exitCode).toBe(4);
    expect(report.reasons.map(({ what }) => what).join()).toMatch(
      /held 50, as many as its pageSize, where \d+ were due/,
    );
    const days = (await csvOf(stage)).map(([key]) => key.split('/')[1]);
    expect(days).not.toContain(`date=${FROM}`);
  });
});

describe('a total that counts only the entries of its page', () => {
  let stage: PlainStage;
  const DAY = '2026-03-02';
  const busy = entriesOfAmounts(
    'USD',
    Array.from(
      { length: 150 },
      (_, nth) => [`A-${nth}`, `${DAY} 10:${String(nth % 50).padStart(2, '0')}:00`, 100] as const,
    ).sort(([, a], [, b]) => (a < b ? -1 : 1)),
  );

  interface Said {
    readonly pageNum?: number;
    readonly pageSize: (count: number) => number;
    readonly mostOnPage: number;
  }
  const hundred = { mostOnPage: 100, pageSize: () => 100 };
  test.each<[string, Said]>([
    ['size and number are as asked', hundred],
    ['each page calls itself page 1', { ...hundred, pageNum: 1 }],
    [
      'each page calls itself page 1 and as large as it is',
      { ...hundred, pageNum: 1, pageSize: (count) => count },
    ],
    ['a page holds 50 at most and says so', { mostOnPage: 50, pageSize: () => 50 }],
    [
      'a page holds 50 at most and calls itself page 1',
      { mostOnPage: 50, pageNum: 1, pageSize: (count) => count },
    ],
  ])(
    'never proves a day of which a part is missing, where %s',
    async (_, { mostOnPage, pageSize, ...said }) => {
      stage = await openPlainStage(busy, '2026-03-04T01:30:00+08:00');
      open.push(stage);
      stage.platform.alter = ({ status, body: honest }, { body: { beginDate, endDate, pageNum } }) => {
        const matching = busy.filter(({ atMs }) => atMs >= Number(beginDate) && atMs <= Number(endDate));
        const list = matching.slice((Number(pageNum) - 1) * mostOnPage, Number(pageNum) * mostOnPage);
        const count = list.length;
        return {
          status,
          body: { ...(honest as object), ...said, pageSize: pageSize(count), total: count, list },
        };
      };
      const { exitCode } = await stage.run(DAY, '2026-03-03');
      const { rows, published } = await state();
      expect(published === 0 || rows === 150).toBe(true);
      expect(exitCode === 0).toBe(published > 0);
    },
  );

  /** How many entries are stored, and how many statements of the day are published. */
  async function state() {
    const { db } = stage.app().database;
    const rows = await db.selectFrom('ledger_entry').select('batch_no').execute();
    const statements = await db.selectFrom('statement').select('day').where('day', '=', DAY).execute();
    return { rows: rows.length, published: statements.length };
  }
});
