/** `alerts`: tests the targets of alerts, and lists the alerts sent. */
import type { Command } from 'commander';
import { alertOf, listAlerts, type DeliveryRow, type ListedAlert } from '../alerts/outbox.ts';
import { sendDirect } from '../alerts/deliver.ts';
import { ABOUT_NO_MERCHANT, type AlertContent } from '../alerts/alert.ts';
import { targetsOf, type Target } from '../alerts/targets.ts';
import { clockOf } from '../run/app.ts';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import { offlineSettings, print, withApp } from './context.ts';
import { lines, table } from './output/text.ts';
import { timesOf, type Times } from './output/times.ts';

const SHOWN = 100;

const TEST: AlertContent = {
  kind: 'test',
  title: 'a test',
  sentences: ['This is a test of `daybook alerts test`. Nothing has happened.'],
  todo: 'nothing',
  ...ABOUT_NO_MERCHANT,
};

export function addAlertsCommand(program: Command): void {
  const alerts = program.command('alerts').description('alerts by webhook and mail');
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
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const targets = targetsOf(settings);
      const times = timesOf(settings);
      await withApp(settings, async ({ database: { db } }) => {
        const listed = await listAlerts(db, SHOWN);
        print(self, {
          document: listed.map((one) => documentOf(one, targets)),
          text: listed.length === 0 ? 'no alerts yet' : listText(listed, targets, times),
        });
      });
    });
}

const nameOf = (key: string, targets: readonly Target[]): string =>
  targets.find((target) => target.key === key)?.name ?? `${key.split(' ')[0] ?? ''}, no longer set`;

function documentOf(listed: ListedAlert, targets: readonly Target[]) {
  const { id, kind, title, sentences, todo, merchants, merchantCount, days, since, runId, raisedAt } =
    alertOf(listed);
  return {
    ...{ id, kind, title, sentences, todo, merchants, merchantCount, days, since, runId, raisedAt },
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
        alertOf(one).title,
        one.deliveries
          .map((delivery) => `${nameOf(delivery.target, targets)}: ${stateText(delivery)}`)
          .join('; '),
      ]),
    ),
    times.note,
    listed.length === SHOWN && `only the newest ${SHOWN} are shown`,
  );
