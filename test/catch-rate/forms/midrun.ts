/** Forms of lie that begin in the middle of a run: the first calls of the night are answered truly. */
import { below } from '../../../src/plugins/sandbox/ledger.ts';
import { OTHER, type Form, type Planted, type Scene, type Setting, OWN } from '../form.ts';
import type { Call, Lies, Line, Moment, Reply } from '../platform.ts';
import { moved } from './amounts.ts';
import { dayEntries, formOf, isReported, placesOf, scaled, without, type Lasting } from './tools.ts';

const form = formOf('in mid-run');
const SAYS_CONTRADICTS =
  /contradict|not steady|empty|no longer|vanished|gone all at the same time|missing|amended|revised|late|different|older state|stale|behind|not found by its batchNo/i;

type Ask = (call: Call) => Reply;

/** Lies from a call of the lie's night on, and in the nights after it from the first call. */
const fromCall = (
  nth: number,
  change: (reply: Reply, call: Call, ask: Ask) => Reply,
  reported: Lasting = 'for good',
): Lies => ({
  reply: (reply, call, at: Moment, ask) =>
    call.merchantNo === OWN && isReported(at, reported) && (at.since > 0 || call.nth >= nth)
      ? change(reply, call, ask)
      : reply,
});

const eachLine =
  (change: (line: Line) => Line) =>
  (reply: Reply): Reply => ({ ...reply, lines: reply.lines.map(change) });

const midForm = (
  name: string,
  lie: string,
  plant: (scene: Scene, nth: number) => Planted | Lies,
  setting: Setting = {},
  says = SAYS_CONTRADICTS,
): Form =>
  form(
    name,
    lie,
    (scene) => {
      const planted = plant(scene, 1 + below(scene.random, 3));
      return 'lies' in planted ? planted : { lies: planted, where: 'everywhere', says };
    },
    { setting },
  );

export const midrunForms: readonly Form[] = [
  midForm('mid-run-empty', 'After some calls of a night every call is answered by total 0.', (_, nth) =>
    fromCall(nth, (reply) => ({ ...reply, total: 0, lines: [] }), 'one night'),
  ),
  midForm(
    'mid-run-empty-for-good',
    'After some calls of a night every call is answered by total 0, for good.',
    (_, nth) => fromCall(nth, (reply) => ({ ...reply, total: 0, lines: [] })),
  ),
  midForm(
    'mid-run-lacks-an-entry',
    'After some calls of a night the last entry of the new day is gone for good.',
    (scene, nth) => {
      const last = dayEntries(scene).slice(-1);
      return {
        lies: fromCall(nth, (reply, call, ask) => without(reply, last, call, ask)),
        where: placesOf(last, scene.zone),
        says: SAYS_CONTRADICTS,
      };
    },
  ),
  midForm(
    'mid-run-older-state',
    'After some calls of a night the state of six hours ago is served, for three nights.',
    (_, nth) => ({
      reply: (reply, call, at) => {
        // What the last night of a history hides, no later one can show.
        if (at.since < 0 || at.since > 2 || (at.since === 0 && call.nth < nth)) return reply;
        const lines = reply.lines.filter(({ atMs }) => atMs <= at.nowMs - 21_600_000);
        return { ...reply, total: reply.total - (reply.lines.length - lines.length), lines };
      },
    }),
  ),
  midForm(
    'mid-run-a-hundredfold',
    'After some calls of a night all amounts and balances are in minor units, for good.',
    (_, nth) =>
      fromCall(
        nth,
        eachLine((line) => ({
          ...line,
          credit: scaled(line.credit, line.currency, 100),
          debit: scaled(line.debit, line.currency, 100),
          balance: scaled(line.balance, line.currency, 100),
        })),
      ),
    {},
    /amended|100|hundred|minor units|factor/i,
  ),
  midForm(
    'mid-run-balances-off',
    'After some calls of a night all balances are off by the same, for good.',
    (_, nth) =>
      fromCall(
        nth,
        eachLine((line) => ({ ...line, balance: moved(line.balance, line.currency, 700) })),
      ),
    {},
    /amended|balance/i,
  ),
  midForm(
    'mid-run-other-ledger',
    "After some calls of a night another merchant's ledger is answered, for good.",
    (_, nth) => fromCall(nth, (_reply, call, ask) => ask({ ...call, merchantNo: OTHER })),
    { bothMerchants: true },
    /merchant|not found by its batchNo|not steady|contradict/i,
  ),
  midForm(
    'mid-run-other-ledger-one-night',
    "After some calls of a night another merchant's ledger is answered, in that night alone.",
    (_, nth) => fromCall(nth, (_reply, call, ask) => ask({ ...call, merchantNo: OTHER }), 'one night'),
    { bothMerchants: true },
    /merchant|not found by its batchNo|not steady|contradict|no longer|vanished/i,
  ),
  midForm(
    'mid-run-types-emptied',
    'After some calls of a night every type is empty, for good.',
    (_, nth) =>
      fromCall(
        nth,
        eachLine((line) => ({ ...line, type: '' })),
      ),
    {},
    /type|amended/i,
  ),
];
