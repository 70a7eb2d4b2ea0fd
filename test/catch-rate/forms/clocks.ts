/** Forms of lie: an outdated state of the ledger, and clocks that are off. */
import { dayOf } from '../../../src/ledger/business-day.ts';
import { below } from '../../../src/plugins/sandbox/ledger.ts';
import type { Form, Planted, Scene, Setting } from '../form.ts';
import type { Lies, Moment } from '../platform.ts';
import { stampedAt } from './moved.ts';
import { accountOf, formOf, isReported, type Lasting } from './tools.ts';
import { OWN } from '../form.ts';

const form = formOf('clocks and replicas');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SAYS_STALE = /stale|older state|behind|lags|revised|entr(?:y|ies) (?:is|are) missing/i;
const SAYS_CLOCK = /\bclock\b|\bbehind\b|\bahead\b/i;

const behind = (scene: Scene, byMs: number, reported: Lasting): Planted => ({
  lies: { lagMs: (at) => (isReported(at, reported) ? byMs : 0) },
  where: scene.currencies.map((currency) => ({ currency, day: scene.target })),
  says: SAYS_STALE,
});

/** Some calls of the night are answered by a replica that lags behind. */
function oneReplica(scene: Scene, byMs: number): Planted {
  const parity = below(scene.random, 2);
  const isStale = (nth: number): boolean => nth % 2 === parity;
  const lies: Lies = {
    reply: (reply, call, at: Moment) => {
      if (at.since !== 0 || !isStale(call.nth)) return reply;
      const lines = reply.lines.filter(({ atMs }) => atMs <= at.nowMs - byMs);
      return { ...reply, total: reply.total - (reply.lines.length - lines.length), lines };
    },
  };
  return { ...behind(scene, byMs, 'one night'), lies };
}

/** Timestamps, and the times the platform filters by, are off from the true time. */
const clockOff = (scene: Scene, byMs: number): Planted => ({
  lies: {
    clockAheadMs: ({ since }) => (since < 0 ? 0 : byMs),
    lines: (lines, { since }, merchantNo) =>
      since < 0 || merchantNo !== OWN
        ? lines
        : lines.map((line) =>
            dayOf(line.atMs, scene.zone) >= scene.target
              ? stampedAt(line, line.atMs + byMs, scene.zone)
              : line,
          ),
  },
  where: [{ currency: accountOf(scene), day: scene.target }],
  says: SAYS_CLOCK,
});

/** A run shortly after midnight, with entries shortly before midnight. */
const AT_MIDNIGHT: Setting = { lateEvenings: true, nightMinutes: 6 };

/** The state of the last honest reading goes on being served. */
const frozen = (scene: Scene, currency: string | null): Planted => ({
  lies: {
    lines: (lines, { since }, merchantNo) =>
      since < 0 || merchantNo !== OWN
        ? lines
        : lines.filter(
            (line) =>
              (currency !== null && line.currency !== currency) ||
              dayOf(line.atMs, scene.zone) < scene.target,
          ),
  },
  where: (currency === null ? scene.currencies : [currency]).map((one) => ({
    currency: one,
    day: scene.target,
  })),
  says: /newest entry is unchanged since/,
});
/** A Monday is the first of the days. */
const BUSY: Setting = { perDay: [13, 20], firstDay: '2026-03-02', nightsAfter: 4 };

export const clockForms: readonly Form[] = [
  form(
    'frozen-replica',
    'From one night on no newer entry is shown of an account of 13 to 20 entries a day.',
    (scene) => frozen(scene, null),
    { setting: BUSY, neverBelieved: true },
  ),
  form(
    'frozen-replica-of-one-currency',
    'From one night on no newer entry of one currency of two is shown.',
    (scene) => frozen(scene, accountOf(scene)),
    { setting: { ...BUSY, currencies: 2 }, neverBelieved: true },
  ),
  form(
    'frozen-replica-after-weeks',
    'After weeks of entries each day no newer entry is shown.',
    (scene) => frozen(scene, null),
    { setting: { ...BUSY, honestDays: 24 }, neverBelieved: true },
  ),
  form('stale-by-a-day-one-night', 'For one night the state of the night before is served.', (scene) =>
    behind(scene, 24 * HOUR_MS, 'one night'),
  ),
  form('stale-by-a-day-for-good', 'From one night on the state of a day ago is served.', (scene) =>
    behind(scene, 24 * HOUR_MS, 'for good'),
  ),
  form('stale-by-hours-one-night', 'For one night the state of six hours ago is served.', (scene) =>
    behind(scene, 6 * HOUR_MS, 'one night'),
  ),
  form(
    'stale-replica-among-others',
    'For one night every other call is served the state of six hours ago.',
    (scene) => oneReplica(scene, 6 * HOUR_MS),
  ),
  form(
    'behind-ten-minutes',
    'Its clock is ten minutes behind and entries show by it; the run begins shortly after midnight.',
    (scene) => {
      const planted = behind(scene, 10 * MINUTE_MS, 'for good');
      const clockAheadMs = ({ since }: Moment) => (since < 0 ? 0 : -10 * MINUTE_MS);
      return { ...planted, lies: { ...planted.lies, clockAheadMs }, says: SAYS_CLOCK };
    },
    { setting: AT_MIDNIGHT },
  ),
  form(
    'clock-ten-minutes-behind',
    "From one day on the platform's clock, and so every timestamp, is ten minutes behind.",
    (scene) => clockOff(scene, -10 * MINUTE_MS),
  ),
  form(
    'clock-ten-minutes-ahead',
    "From one day on the platform's clock, and so every timestamp, is ten minutes ahead.",
    (scene) => clockOff(scene, 10 * MINUTE_MS),
  ),
];
