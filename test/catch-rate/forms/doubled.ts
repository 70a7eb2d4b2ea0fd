/** Forms of lie: entries that are shown, or booked, more than once. */
import { decimal, unitsOf, type Booking } from '../books.ts';
import { nobodyCanTell, OWN, type Form, type Planted, type Scene } from '../form.ts';
import { dayWindow } from '../../../src/ledger/business-day.ts';
import { changing, dayEntries, formOf, leads, likeness, middleOf, placesOf } from './tools.ts';

const form = formOf('doubled');
const SAYS_TWICE = /\btwice\b|total is \d+, but/i;
const DAY_MS = 86_400_000;

const twice = (scene: Scene, choose: (scene: Scene) => Booking): Planted => {
  const booking = choose(scene);
  return {
    lies: changing([booking], (line) => [line, { ...line, batchNo: likeness(booking).batchNo }]),
    where: placesOf([booking], scene.zone),
    says: SAYS_TWICE,
  };
};

export const doubledForms: readonly Form[] = [
  form('doubled-same-number', 'An entry is in its page twice, and the total counts both.', (scene) => {
    const booking = middleOf(scene);
    return {
      lies: changing([booking], (line) => [line, line]),
      where: placesOf([booking], scene.zone),
      says: SAYS_TWICE,
    };
  }),
  form(
    'doubled-same-number-uncounted',
    'An entry is in its page twice, and the total counts one.',
    (scene) => {
      const booking = middleOf(scene);
      const day = dayWindow(scene.target, scene.zone);
      return {
        lies: {
          reply: (reply, call, { since }) => {
            const line = reply.lines.find(({ batchNo }) => batchNo === booking.batchNo);
            const isComplete = call.batchNo === undefined && call.endMs - call.beginMs > 1_000;
            return since >= 0 && line !== undefined && isComplete && call.beginMs <= day.endMs
              ? { ...reply, lines: [...reply.lines, line] }
              : reply;
          },
        },
        where: placesOf([booking], scene.zone),
        says: SAYS_TWICE,
      };
    },
  ),
  form('doubled-other-number', 'An entry is shown twice, the second time under another number.', (scene) =>
    twice(scene, middleOf),
  ),
  form(
    'doubled-last-other-number',
    "A day's last entry is shown twice, the second time under another number.",
    (scene) => twice(scene, (where) => dayEntries(where).at(-1)!),
  ),
  form('doubled-on-two-days', 'An entry is shown again under the same number a day later.', (scene) => {
    const booking = middleOf(scene);
    const { batchNo } = booking;
    return {
      lies: {
        lines: (lines, { since, nowMs }) => {
          const line = lines.find((one) => one.batchNo === batchNo);
          if (since < 1 || line === undefined || line.filterMs + DAY_MS > nowMs) return lines;
          const again = new Date(Date.parse(`${line.stamp}Z`) + DAY_MS).toISOString();
          const stamp = again.slice(0, 19).replace('T', ' ');
          return [...lines, { ...line, stamp, filterMs: line.filterMs + DAY_MS }];
        },
      },
      where: [
        ...placesOf([booking], scene.zone),
        ...placesOf([{ ...booking, stampMs: booking.stampMs + DAY_MS }], scene.zone),
      ],
      says: /\btwice\b|amended/i,
      first: leads(/\btwice\b|amended|read before|two days|same number/i),
    };
  }),
  form(
    'doubled-and-balanced',
    'An entry is booked twice under two numbers, and every later balance follows.',
    (scene) => {
      const booking = middleOf(scene);
      return {
        lies: {
          lines: (lines, { since }, merchantNo) => {
            if (since < 0 || merchantNo !== OWN) return lines;
            return lines.flatMap((line) => {
              if (line.currency !== booking.currency || line.atMs < booking.atMs) return [line];
              const moved = { ...line, balance: shifted(line.balance, booking) };
              return line.batchNo === booking.batchNo
                ? [line, { ...moved, batchNo: likeness(booking).batchNo }]
                : [moved];
            });
          },
        },
        where: placesOf([booking], scene.zone),
        says: SAYS_TWICE,
      };
    },
    { sight: nobodyCanTell('two entries of the same amount that both move the balance are two entries') },
  ),
];

/** The balance after the entry is booked once more. */
const shifted = (balance: string, { currency, net }: Booking): string =>
  decimal(unitsOf(balance, currency)! + net, currency);
