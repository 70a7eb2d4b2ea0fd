/** Forms of lie: list and total both end at a cap, so that a window looks complete; and totals that count another window. */
import type { Form, Scene, Setting } from '../form.ts';
import { pageText, type Call, type Lies, type Line, type Order, type Reply } from '../platform.ts';
import { answering, emptied, formOf, type Lasting } from './tools.ts';

const caps = formOf('windows and caps');
const totals = formOf('totals');
const refusals = formOf('refusals');

const SAYS_CAP = /\bcaps its results at \d+/;

/** Every entry that matches the call, in the platform's order. */
function allOf(call: Call, total: number, ask: (call: Call) => Reply): Line[] {
  const pages = Math.ceil(total / 100);
  return Array.from({ length: pages }, (_, page) => ask({ ...call, pageNum: page + 1 }).lines).flat();
}

/** Of all that matches, the first or the last by time, whatever order the platform shows them in. */
const capped =
  (most: number, kept: 'oldest' | 'newest') =>
  (reply: Reply, call: Call, ask: (call: Call) => Reply): Reply => {
    if (reply.total <= most) return reply;
    const all = allOf(call, reply.total, ask);
    const byTime = all.map(({ filterMs }) => filterMs).sort((a, b) => a - b);
    const edgeMs = kept === 'oldest' ? byTime[most - 1]! : byTime[all.length - most]!;
    const shown = all
      .filter(({ filterMs }) => (kept === 'oldest' ? filterMs <= edgeMs : filterMs >= edgeMs))
      .slice(0, most);
    const first = (call.pageNum - 1) * 100;
    return { ...reply, total: most, lines: shown.slice(first, first + 100) };
  };

/** A ledger of eight days that is read for the first time under the cap. */
const firstReading = (perDay: readonly [number, number], order: Order): Setting => ({
  ...{ honestDays: 8, fromTheFirstReading: true, currencies: 1, nightsAfter: 1, lifeBefore: true },
  ...{ perDay, order },
});

const capForm = (name: string, lie: string, lies: Lies, setting: Setting): Form =>
  caps(name, lie, () => ({ lies, where: 'everywhere', says: SAYS_CAP }), {
    ...{ setting, mustBeReported: true, neverBelieved: true },
  });

const cappedAt = (most: number, kept: 'oldest' | 'newest'): Lies => answering(capped(most, kept));

export const capForms: readonly Form[] = [
  capForm(
    'capped-at-one-hundred-from-the-first-reading',
    'No window ever shows more than its oldest 100 entries, and its total says so.',
    cappedAt(100, 'oldest'),
    firstReading([30, 40], 'ascending'),
  ),
  capForm(
    'capped-at-one-hundred-newest-first',
    'No window ever shows more than its newest 100 entries, and its total says so.',
    cappedAt(100, 'newest'),
    firstReading([30, 40], 'descending'),
  ),
  capForm(
    'capped-at-a-thousand-from-the-first-reading',
    'No window ever shows more than its oldest 1,000 entries, and its total says so.',
    cappedAt(1_000, 'oldest'),
    firstReading([160, 180], 'ascending'),
  ),
  capForm(
    'capped-at-one-hundred-in-no-order',
    'No window ever shows more than its oldest 100 entries, in the order of their amounts.',
    cappedAt(100, 'oldest'),
    firstReading([30, 40], 'by amount'),
  ),
  capForm(
    'capped-at-an-odd-number',
    'No window ever shows more than its oldest 137 entries, and its total says so.',
    cappedAt(137, 'oldest'),
    firstReading([40, 50], 'ascending'),
  ),
  capForm(
    'capped-within-each-day',
    'No window ever shows more than its oldest 120 entries, of days with more.',
    cappedAt(120, 'oldest'),
    firstReading([130, 160], 'ascending'),
  ),
  capForm(
    'capped-from-a-night-on',
    'From one night on no window shows more than its oldest 100 entries, and its total says so.',
    cappedAt(100, 'oldest'),
    { perDay: [30, 40], currencies: 1, honestDays: 8, resweepDays: 7, nightsAfter: 1, order: 'ascending' },
  ),
  capForm(
    'capped-from-a-night-on-at-an-odd-number',
    'From one night on no window shows more than its newest 73 entries, and its total says so.',
    cappedAt(73, 'newest'),
    { perDay: [30, 40], currencies: 1, honestDays: 8, resweepDays: 7, nightsAfter: 1, order: 'descending' },
  ),
];

const ALL_TIME = { beginMs: 0, endMs: 9_999_999_999_999 };
const ofLedger = (reply: Reply, call: Call, ask: (call: Call) => Reply): Reply => ({
  ...reply,
  total: ask({ ...call, ...ALL_TIME }).total,
});
const SAYS_LEDGER = /states the total \d+ for (?:each|every)/;

const ledgerTotal = (name: string, lie: string, setting: Setting): Form =>
  totals(name, lie, () => ({ lies: answering(ofLedger), where: 'everywhere', says: SAYS_LEDGER }), {
    ...{ setting, mustBeReported: true },
  });

export const totalOfLedgerForms: readonly Form[] = [
  ledgerTotal('total-of-the-whole-ledger', 'From one night on each total counts the whole ledger.', {
    honestDays: 12,
    perDay: [6, 14],
  }),
  ledgerTotal(
    'total-of-the-whole-ledger-from-the-first-reading',
    'Each total counts the whole ledger, also what came before the first day.',
    { honestDays: 8, perDay: [20, 30], currencies: 1, lifeBefore: true, fromTheFirstReading: true },
  ),
];

/** Refusals in forms that no list of names has. */
const UNLISTED: Readonly<Record<string, string>> = {
  succeed: '"succeed":false,"msg":"system busy"',
  'succeed-of-digits': '"succeed":0',
  rc: '"rc":-7,"desc":"system busy"',
  'http-status': '"httpStatus":503',
  'gateway-code': '"gatewayCode":"GW-503"',
  outcome: '"outcome":"REJECTED"',
  ack: '"ack":"N"',
  'message-alone': '"message":"system busy, try again later"',
  'note-in-an-object': '"meta":{"advice":{"text":"rate exceeded"}}',
  'list-of-notes': '"notes":["maintenance","back at 06:00"]',
};
const SAYS_UNLISTED = /refused: .*\bnext to an empty page/;

const refusedBy = (fields: string, reported: Lasting): Lies =>
  answering(
    (reply, call) => ({ ...reply, text: `{${fields},${pageText(emptied(reply), call.pageNum).slice(1)}` }),
    reported,
  );

const unlisted = (
  name: string,
  fields: string,
  lie: string,
  reported: Lasting,
  setting: Setting = {},
): Form =>
  refusals(
    name,
    lie,
    () => ({ lies: refusedBy(fields, reported), where: 'everywhere', says: SAYS_UNLISTED }),
    {
      ...{ setting, mustBeReported: true, neverBelieved: true },
    },
  );

const drawnOf = ({ random }: Scene): string => {
  const all = Object.values(UNLISTED);
  return all[Math.floor(random() * all.length)]!;
};

export const unlistedRefusalForms: readonly Form[] = [
  ...Object.entries(UNLISTED).map(([name, fields]) =>
    unlisted(
      `refused-unlisted-${name}`,
      fields,
      `For one night every call is answered by an empty page with ${fields.replaceAll('"', '')}.`,
      'one night',
    ),
  ),
  unlisted(
    'refused-unlisted-from-the-first-reading',
    UNLISTED['succeed']!,
    'Every call is answered by an empty page with succeed: false, from the first reading on.',
    'for good',
    { fromTheFirstReading: true },
  ),
  refusals(
    'refused-unlisted-the-new-day',
    'Calls for the new day alone are answered by an empty page with a field that no list has.',
    (scene) => ({
      lies: answering(
        (reply, call) => ({
          ...reply,
          text: `{${drawnOf(scene)},${pageText(emptied(reply), call.pageNum).slice(1)}`,
        }),
        'for good',
        ({ nth }) => nth === 0,
      ),
      where: 'everywhere',
      says: SAYS_UNLISTED,
    }),
    { neverBelieved: true },
  ),
];
