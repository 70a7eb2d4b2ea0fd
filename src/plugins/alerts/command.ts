/** `alerts`: a test of each target, and what became of the alerts. */
import type { Command } from 'commander';
import { answer, offlineSettings, print } from '../../cli/context.ts';
import { lines, table, type Times } from '../../cli/output/text.ts';
import { ABOUT_NO_MERCHANT, type AlertContent } from '../../run/alerts.ts';
import { clockOf } from '../../run/app.ts';
import { EXIT, UsageError } from '../../run/verdict/exit-codes.ts';
import { sendDirect } from './deliver.ts';
import { headlineOf, statusOf } from './alert.ts';
import { alertOf, listAlerts, type DeliveryRow, type ListedAlert } from './outbox.ts';
import { targetsOf, type Target } from './targets.ts';

const SHOWN = 100;

const TEST: AlertContent = {
  kind: 'test',
  title: 'a test',
  sentences: ['This is a test of `daybook alerts test`. Nothing has happened.'],
  todo: 'nothing',
  ...ABOUT_NO_MERCHANT,
};

export function alertsCommand(alerts: Command): void {
  alerts
    .command('test')
    .description('send a test to each target, and say which took it; ends with 4 if one did not')
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const targets = targetsOf(settings);
      if (targets.length === 0) {
        throw new UsageError(
          'no alerts are set up: set DAYBOOK_ALERT_URL, or DAYBOOK_ALERT_MAIL_TO, DAYBOOK_ALERT_MAIL_FROM and DAYBOOK_SMTP_URL.',
        );
      }
      const results = await sendDirect(targets, TEST, { now: clockOf(settings) });
      print(self, {
        document: results,
        text: table(
          ['target', '~result'],
          results.map(({ target, problem }) => [target, problem ?? 'took the test']),
        ),
        exitCode: results.every(({ problem }) => problem === null) ? EXIT.done : EXIT.incomplete,
      });
    });
  alerts
    .command('list')
    .description(`alerts and their delivery, newest first, up to ${SHOWN}`)
    .action((_flags: object, self: Command) =>
      answer(self, async ({ db, settings, times }) => {
        const targets = targetsOf(settings);
        const listed = await listAlerts(db, SHOWN);
        return {
          document: listed.map((one) => documentOf(one, targets)),
          text: listed.length === 0 ? 'no alerts yet' : listText(listed, targets, times),
        };
      }),
    );
}

const nameOf = (key: string, targets: readonly Target[]): string =>
  targets.find((target) => target.key === key)?.name ?? `${key.split(' ')[0] ?? ''}, no longer set`;

function documentOf(listed: ListedAlert, targets: readonly Target[]) {
  const alert = alertOf(listed);
  const { id, kind, title, sentences, todo, merchants, merchantCount, days, since, runId, raisedAt } = alert;
  return {
    ...{
      id,
      kind,
      status: statusOf(alert),
      title,
      sentences,
      todo,
      merchants,
      merchantCount,
      days,
      since,
      runId,
      raisedAt,
    },
    deliveries: listed.deliveries.map((one) => ({ ...one, target: nameOf(one.target, targets) })),
  };
}

const stateText = ({ state, attempts, problem }: DeliveryRow): string =>
  state === 'sent' || problem === null
    ? state
    : `${state} after ${attempts === 1 ? '1 try' : `${attempts} tries`}: ${problem}`;

const listText = (listed: readonly ListedAlert[], targets: readonly Target[], times: Times): string =>
  lines(
    table(
      ['at', 'kind', '~what', '~to'],
      listed.map((one) => [
        times.at(one.raisedAt),
        one.kind,
        headlineOf(alertOf(one)),
        one.deliveries
          .map((delivery) => `${nameOf(delivery.target, targets)}: ${stateText(delivery)}`)
          .join('; '),
      ]),
    ),
    times.note,
    listed.length === SHOWN && `only the newest ${SHOWN} are shown`,
  );
