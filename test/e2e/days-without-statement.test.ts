/** A proven day without a statement is told with its cause and the command that mends it, whichever command met it. */
import { afterEach, expect, test } from 'vitest';
import { statusExitCode, statusOf } from '../../src/run/status.ts';
import { daybook, envOf } from '../cli/daybook.ts';
import { entriesOfAmounts, plainMs, type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';
import { differencesFromLaw } from '../support/positive-law.ts';

const { merchantNo } = PLAIN_MERCHANT;
const NOW = '2026-03-10T01:30:00+08:00';
const QUIET = entriesOfAmounts('USD', [
  ['A-1', '2026-03-02 10:00:00', 10_000],
  ['A-2', '2026-03-08 10:00:00', 500],
]);

let stage: PlainStage;
afterEach(() => stage.close());

const command = (...args: string[]) => daybook(args, envOf({ app: stage.app() }));
const byLaw = async () => {
  const { figures, statements } = await differencesFromLaw({
    ...{ db: stage.app().database.db, folder: stage.folder, merchantNo, nowMs: stage.now().getTime() },
    beginOf: (day) => plainMs(`${day} 00:00:00`),
  });
  return [...figures, ...statements];
};
const status = async () => {
  const clock = { zone: 'Asia/Shanghai', now: stage.now(), maxAgeMs: null };
  const statuses = await statusOf(stage.app().database.db, [merchantNo], clock);
  return { code: statusExitCode(statuses, { notMadeUpFor: [] }), found: statuses[0]!.discrepancies };
};

const SAYS =
  'M-PLAIN USD: 1 day proven to have no entries, and without a statement, as the balance before is not known: ' +
  '2026-03-05; 2026-03-03 to 2026-03-04 are not read completely';
const CURE = 'daybook run --from 2026-03-03 --to 2026-03-04 --merchant M-PLAIN';

test('a quiet day behind unread days is withheld, and the run, publish, reconcile, status and close name the days to read', async () => {
  stage = await openPlainStage(QUIET, NOW);
  expect(await stage.run('2026-03-02', '2026-03-02')).toMatchObject({ exitCode: 0 });
  const run = await stage.run('2026-03-05', '2026-03-05');
  expect(run).toMatchObject({ exitCode: 3, publish: { published: [] } });
  expect(run.publish!.withheld).toMatchObject([{ day: '2026-03-05', cause: 'no-opening' }]);
  expect(run.reasons).toContainEqual(
    expect.objectContaining({ exitCode: 3, what: SAYS, todo: `\`${CURE}\`` }),
  );
  for (const name of ['publish', 'reconcile'] as const) {
    const report = await stage.run('2026-03-05', '2026-03-05', { command: name });
    expect.soft([report.exitCode, report.notes], name).toEqual([3, [SAYS]]);
  }
  expect(await status()).toMatchObject({ code: 3, found: [{ what: 'no-opening', days: ['2026-03-05'] }] });
  expect(await byLaw()).toEqual([
    'USD 2026-03-05 is proven and has no figures',
    'USD 2026-03-05 is proven and has no statement',
  ]);
  const shown = await command('run', '--from', '2026-03-05', '--to', '2026-03-05');
  expect(shown.code).toBe(3);
  expect(shown.stdout).toContain('1 withheld');
  const checked = await command('close', '2026-03', '--check', '--merchant', merchantNo);
  expect(checked.stdout).toContain(`USD 2026-03-05`);
  expect(checked.stdout).toContain(CURE);
  expect(checked.stdout).not.toContain('daybook publish');
  await stage.run('2026-03-03', '2026-03-04');
  expect(await byLaw()).toEqual([]);
  expect(await status()).toEqual({ code: 0, found: [] });
});

test('quiet days behind a month that nobody read, and before the next entry, are told by the night', async () => {
  stage = await openPlainStage(
    entriesOfAmounts('USD', [
      ['A-1', '2026-01-10 10:00:00', 10_000],
      ['A-2', '2026-03-08 10:00:00', 500],
    ]),
    NOW,
  );
  expect(await stage.night()).toMatchObject({ exitCode: 0, from: '2026-03-02' });
  await stage.run('2026-01-10', '2026-01-11');
  const night = await stage.night();
  expect(night).toMatchObject({ exitCode: 3, from: '2026-03-02' });
  expect(night.notes.join()).toContain(
    '6 days proven to have no entries, and without a statement, as the balance before is not known: ' +
      '2026-03-02 to 2026-03-07; 2026-01-12 to 2026-03-01 are not read completely',
  );
  await stage.run('2026-01-12', '2026-03-01');
  expect(await byLaw()).toEqual([]);
  expect(await stage.night()).toMatchObject({ exitCode: 0 });
});

test('the first quiet days of a month behind unread days of the month before are open by its close, with what to read', async () => {
  stage = await openPlainStage(QUIET, '2026-04-10T01:30:00+08:00');
  await stage.run('2026-03-02', '2026-03-08');
  await stage.run('2026-04-01', '2026-04-02');
  const checked = await command('close', '2026-04', '--check', '--merchant', merchantNo);
  expect(checked.stdout).toContain('daybook run --from 2026-03-09 --to 2026-03-31 --merchant M-PLAIN');
  expect(checked.stdout).not.toContain('daybook publish');
});

const wire = (entry: WireEntry, fields: Readonly<Record<string, unknown>>): WireEntry => ({
  ...entry,
  ...fields,
});
const inIso = (entry: WireEntry) => wire(entry, { busiDate: `${entry.busiDate.replace(' ', 'T')}+08:00X` });
const grouped = (entry: WireEntry) => wire(entry, { vailAmount: `1.${String(entry.vailAmount)}.0` });

const BUSY = entriesOfAmounts('USD', [
  ['A-1', '2026-03-02 10:00:00', 10_000],
  ['A-2', '2026-03-03 10:00:00', 500],
  ['A-3', '2026-03-03 11:00:00', 500],
  ['A-4', '2026-03-04 10:00:00', 500],
  ['A-5', '2026-03-04 11:00:00', 500],
]);
const spoilt = (how: (entry: WireEntry) => WireEntry, ...batchNos: string[]) =>
  BUSY.map((entry) => (batchNos.includes(entry.batchNo) ? how(entry) : entry));

test('a quiet day behind days that cannot be read waits with them, as the balance that it opens on is not known', async () => {
  stage = await openPlainStage(spoilt(inIso, 'A-4', 'A-5'), '2026-03-06T01:30:00+08:00');
  const run = await stage.run('2026-03-02', '2026-03-05');
  expect(run.publish!.published.map(({ day }) => day)).toEqual(['2026-03-02', '2026-03-03']);
  expect(run.publish!.withheld.map(({ day, cause }) => [day, cause])).toEqual([
    ['2026-03-04', 'unreadable'],
    ['2026-03-05', 'unreadable'],
  ]);
  stage.entries = BUSY;
  expect((await stage.night()).publish!.published.map(({ day }) => day)).toEqual([
    '2026-03-04',
    '2026-03-05',
  ]);
});

test.each([
  ['stamps in a form that cannot be read', inIso],
  ['amounts in a form that cannot be read', grouped],
])(
  'of days with %s nothing is published until it can be read, and then they are published first',
  async (_, how) => {
    stage = await openPlainStage(spoilt(how, 'A-2', 'A-3', 'A-4', 'A-5'), '2026-03-05T01:30:00+08:00');
    const planned = await command('plan', '--from', '2026-03-02', '--to', '2026-03-04');
    expect(planned.stdout).toContain(
      'M-PLAIN USD 2026-03-03 would not be published: none of its entries can be',
    );
    const run = await stage.run('2026-03-02', '2026-03-04');
    expect(run).toMatchObject({ exitCode: 3, publish: { published: [{ day: '2026-03-02' }] } });
    expect(run.publish!.withheld.map(({ day, cause }) => [day, cause])).toEqual([
      ['2026-03-03', 'unreadable'],
      ['2026-03-04', 'unreadable'],
    ]);
    expect(run.notes.join()).toContain(
      'M-PLAIN USD 2026-03-03 is not published: none of its entries can be read: 2 in quarantine',
    );
    expect(await status()).toMatchObject({ code: 3, found: [{ what: 'unreadable' }] });
    expect(await stage.run('2026-03-02', '2026-03-04', { command: 'publish' })).toMatchObject({
      exitCode: 3,
    });

    stage.entries = BUSY;
    const again = await stage.run('2026-03-02', '2026-03-04');
    expect(again.standing.revised).toEqual([]);
    expect(again).toMatchObject({ exitCode: 0 });
    expect(again.notes).toEqual([
      '2 days are published for the first time, as their entries can be read now: M-PLAIN USD 2026-03-03; M-PLAIN USD 2026-03-04',
    ]);
    expect(await byLaw()).toEqual([]);
  },
);

test('an account whose first days could not be read is published first once they can, and nothing is called revised', async () => {
  stage = await openPlainStage(BUSY.map(inIso), '2026-03-05T01:30:00+08:00');
  expect(await stage.run('2026-03-02', '2026-03-04')).toMatchObject({ exitCode: 3 });
  stage.entries = BUSY;
  const again = await stage.run('2026-03-02', '2026-03-04');
  expect(again).toMatchObject({ exitCode: 0 });
  expect(again.notes).toEqual([
    '3 days are published for the first time, as their entries can be read now: M-PLAIN USD 2026-03-02; ' +
      'M-PLAIN USD 2026-03-03; M-PLAIN USD 2026-03-04',
  ]);
});

test('a day whose last entries cannot be read would pass for complete, and is withheld until somebody answers for it', async () => {
  stage = await openPlainStage(spoilt(grouped, 'A-5'), '2026-03-05T01:30:00+08:00');
  const run = await stage.run('2026-03-02', '2026-03-04');
  expect(run.publish!.withheld.map(({ day, cause }) => [day, cause])).toEqual([['2026-03-04', 'unreadable']]);
  expect(await command('quarantine', 'acknowledge', '1', '--note', 'case 7', '--by', 'Ada')).toMatchObject({
    code: 0,
  });
  expect(await stage.run('2026-03-02', '2026-03-04')).toMatchObject({
    exitCode: 0,
    publish: { published: [{ day: '2026-03-04' }] },
  });
});
