/** What a day's mark says, and what stands next to it: over a real server, database and platform. */
import { afterEach, describe, expect, test } from 'vitest';
import { cellsOf } from '../../support/cells.ts';
import { daybook, envOf } from '../../cli/daybook.ts';
import { showPages, textOf, type ShownPages } from './support.ts';
import { MERCHANT, openStage, scenario, type Stage, type StageOptions } from '../../support/stage.ts';

const { merchantNo } = MERCHANT;
const of = { merchant: merchantNo };
const USD = { merchants: [{ ...MERCHANT, currencies: ['USD'] }] };

let stage: Stage;
let pages: ShownPages;
afterEach(async () => {
  await pages.close();
  await stage.close();
});

const open = async (options: StageOptions = {}): Promise<void> => {
  stage = await openStage(options);
  pages = await showPages(stage);
};
const words = async (path: string): Promise<string> => textOf(await pages.html(path));
const cells = async (): Promise<string[]> => cellsOf(await pages.html('/?month=2026-03'));
const run = (from: string, to: string, command: 'run' | 'sync' | 'reconcile' = 'run') =>
  stage.run({ command, range: { from, to } });

async function acknowledgeAll(count: number): Promise<void> {
  for (let id = 1; id <= count; id += 1) {
    const args = ['quarantine', 'acknowledge', String(id), '--note', 'booked by hand', '--by', 'Ada'];
    expect(await daybook(args, envOf(stage))).toMatchObject({ code: 0 });
  }
}

/** The first and last proven day that `status` shows, and how many merchants have none, as `metrics` tells. */
async function proven(): Promise<unknown[]> {
  const said = async (command: string, pattern: RegExp) =>
    pattern.exec((await daybook([command], envOf(stage))).stdout)?.slice(1);
  return [
    await said('status', /SBX-M-1 +[-\d]+ [:\d]+ +(nothing yet|[-\d]+) +(nothing yet|[-\d]+) /),
    await said('metrics', /^daybook_merchants_unproven (\d+)$/m),
  ];
}

describe('an entry that cannot be read', () => {
  test('is neither proven nor empty where it was booked, and does not touch accounts of other currencies', async () => {
    await open({
      scenario: scenario({
        entriesPerDay: 3,
        planted: [
          ...[0, 1, 2].map((nth) => ({
            what: 'malformed' as const,
            ...{ ...of, currency: 'USD', day: '2026-03-05', nth },
          })),
          { what: 'malformed', ...of, currency: 'KWD', day: '2026-03-05', nth: 2 },
        ],
      }),
    });
    await stage.run();
    expect(await cells()).toEqual([
      ...['02', '03', '04'].map((day) => `KWD 2026-03-${day} proven`),
      'KWD 2026-03-05 not all readable, not published yet',
      ...['02', '03', '04'].map((day) => `USD 2026-03-${day} proven`),
      'USD 2026-03-05 not all readable, not published yet',
    ]);
    const day = await words(`/m/${merchantNo}/USD/2026-03-05`);
    expect(day).toContain('an entry could not be read; the figures do not include what it says');
    expect(day).toMatch(
      /Unreadable entries .*as received, and to its acknowledgement\. SBX\d+ : .* SBX\d+ : .* SBX\d+ : /,
    );
    expect(await words(`/m/${merchantNo}/KWD/2026-03-04`)).not.toContain('Unreadable entries');

    // Acknowledged, they leave a day of other entries proven. A day of which nothing was read is not, and not empty.
    await acknowledgeAll(4);
    expect(await stage.run()).toMatchObject({
      exitCode: 0,
      standing: { proven: [{ provenThrough: '2026-03-04' }] },
    });
    expect(await cells()).toEqual([
      ...['02', '03', '04', '05'].map((day) => `KWD 2026-03-${day} proven`),
      ...['02', '03', '04'].map((day) => `USD 2026-03-${day} proven`),
      'USD 2026-03-05 not all readable',
    ]);
    expect(await proven()).toEqual([['2026-03-02', '2026-03-04'], ['0']]);
  });

  test('leaves nothing proven of a merchant of whom no entry could be read, whoever acknowledged them', async () => {
    await open({ scenario: scenario({ entriesPerDay: 3, ...USD }) });
    for (const { batchNo } of stage.sandbox.entriesOf(merchantNo))
      stage.sandbox.amend(merchantNo, batchNo, { inAmount: null, outAmount: null });
    expect(await stage.run()).toMatchObject({ exitCode: 3, standing: { proven: [{ provenThrough: null }] } });
    await acknowledgeAll(12);
    expect(await stage.run()).toMatchObject({ exitCode: 0, standing: { proven: [{ provenThrough: null }] } });
    expect(await proven()).toEqual([['nothing yet', 'nothing yet'], ['1']]);
  });

  test('is said beside the mark of a broken day', async () => {
    await open({
      scenario: scenario({
        entriesPerDay: 60,
        ...USD,
        planted: [{ what: 'malformed', ...of, currency: 'USD', day: '2026-03-03', nth: 20 }],
      }),
    });
    await stage.run();
    expect((await cells())[1]).toBe('USD 2026-03-03 broken, an entry could not be read');
  });
});

describe('an opening that follows from nothing', () => {
  test('is said of a day behind days that were not read', async () => {
    await open({ scenario: scenario(USD) });
    await run('2026-03-02', '2026-03-02');
    await run('2026-03-05', '2026-03-05');
    const derived =
      'opening derived from the first entry, because no earlier entry of the account is known, or the time since the last one was not read completely';
    expect(await cells()).toEqual([
      'USD 2026-03-02 proven',
      'USD 2026-03-03 not complete yet',
      'USD 2026-03-04 not complete yet',
      `USD 2026-03-05 proven, ${derived}`,
    ]);
    expect(await words(`/m/${merchantNo}/USD/2026-03-05`)).toContain(derived);
    expect(await words(`/m/${merchantNo}/2026-03`)).toContain(`5 Mar 2026 ✓ ⊢ proven, ${derived}`);
  });

  test('tells from which day on the month is known, and days before it are not read, and open', async () => {
    await open({ scenario: scenario(USD) });
    await run('2026-03-04', '2026-03-05');
    expect(await cells()).toEqual([
      'USD 2026-03-04 proven, opening derived from the first entry, because no earlier entry of the account is known, or the time since the last one was not read completely',
      'USD 2026-03-05 proven',
    ]);
    const month = await words(`/m/${merchantNo}/2026-03`);
    expect(month).toMatch(/Statements of 4 Mar 2026 – 5 Mar 2026 The month in USD Opening [\d.,]+ /);
    expect(month).toContain(
      'not read completely: 1 Mar 2026 – 3 Mar 2026 not over: 6 Mar 2026 – 31 Mar 2026',
    );
    expect(await pages.html(`/m/${merchantNo}/2026-03`)).not.toContain(`/m/${merchantNo}/USD/2026-03-03"`);
    expect(await pages.html(`/m/${merchantNo}/USD/2026-03-04`)).not.toContain('rel="prev"');
    expect((await pages.get(`/m/${merchantNo}/USD/2026-03-03`)).status).toBe(404);
    expect(await words('/?month=2026-03')).toContain('not read before the first day that was read');
    const close = await daybook(['close', '2026-03', '--merchant', merchantNo, '--by', 'Ada'], envOf(stage));
    expect(close.stdout).toMatch(/USD 2026-03-01 to 2026-03-03: not read completely/);
  });
});

describe('a statement behind the books', () => {
  test('is said, where none was published and where one is out of date', async () => {
    await open({
      scenario: scenario({
        entriesPerDay: 60,
        ...USD,
        planted: [
          {
            what: 'late',
            ...of,
            currency: 'USD',
            day: '2026-03-04',
            nth: 59,
            appears: '2026-03-06T12:00:00+08:00',
          },
        ],
      }),
    });
    await run('2026-03-02', '2026-03-04');
    stage.setNow('2026-03-07T01:30:00+08:00');
    await run('2026-03-04', '2026-03-05', 'sync');
    await run('2026-03-04', '2026-03-05', 'reconcile');
    expect(await cells()).toEqual([
      'USD 2026-03-02 proven',
      'USD 2026-03-03 proven',
      'USD 2026-03-04 proven, changed since it was published',
      'USD 2026-03-05 proven, not published yet',
      'USD 2026-03-06 not complete yet',
    ]);
    expect(await words(`/m/${merchantNo}/2026-03`)).toMatch(
      /5 Mar 2026 ✓ ↑ proven, not published yet not published 4 Mar 2026 ✓ ↻ proven, changed since it was published .* r1/,
    );
  });
});

describe('days still open', () => {
  test('are the same for the page of the month, its close and its download', async () => {
    await open({
      scenario: scenario({
        entriesPerDay: 60,
        ...USD,
        planted: [{ what: 'missing', ...of, currency: 'USD', day: '2026-03-03', nth: 20 }],
      }),
    });
    await stage.run();
    const open_ =
      'not read completely: 1 Mar 2026, 6 Mar 2026 broken: 3 Mar 2026 not over: 7 Mar 2026 – 31 Mar 2026';
    stage.setNow('2026-03-07T01:30:00+08:00');
    expect(await words(`/m/${merchantNo}/2026-03`)).toContain(open_);
    expect(await words(`/m/${merchantNo}/2026-03?close=yes`)).toContain(
      '28 account days (1 account) are open.',
    );
    const close = await daybook(['close', '2026-03', '--merchant', merchantNo, '--by', 'Ada'], envOf(stage));
    expect(close.stdout).toContain('28 account days (1 account) are open');
    const zip = await daybook(
      ['statements', 'get', '--month', '2026-03', '--out', stage.app.settings.dataDir, '--json'],
      envOf(stage),
    );
    const { accounts } = JSON.parse(zip.stdout) as { accounts: { openDays: string[] }[] };
    expect([accounts[0]!.openDays.length, accounts[0]!.openDays[0]]).toEqual([28, '2026-03-01']);
    expect(await words(`/m/${merchantNo}/2026-04`)).toContain('not over: 1 Apr 2026 – 30 Apr 2026');
  });
});

test('the status says of days that are missing what `daybook status` says, and how the last run ended', async () => {
  await open({ scenario: scenario(USD) });
  await run('2026-03-02', '2026-03-02');
  await run('2026-03-05', '2026-03-05');
  const page = await words('/status');
  const reported = (await daybook(['status'], envOf(stage))).stdout;
  const missing = /missing:\n {2}(.*)/.exec(reported)![1]!;
  expect(missing).toContain('not read yet');
  expect(page).toContain(`missing: ${missing}`);
  expect(page).toContain('exit code 3 (complete, needs attention)');
  expect(await words('/status?after=zzz')).toContain('No more merchants.');
});

test(
  'the status says of ages, checks and the overview what `daybook status` says',
  { tags: ['long'] },
  async () => {
    await open({ scenario: scenario(USD), platform: { timeZoneProof: 'trusted' } });
    await stage.run({ merchants: [MERCHANT] }, { timeZoneTrusted: true });
    await stage.app.database.db
      .updateTable('run')
      .set({ figures: JSON.stringify({ platformBehindMs: 600_000 }) })
      .execute();
    const env = { ...envOf(stage), PLATFORM_TIME_ZONE_PROOF: 'trusted' };
    const reported = (await daybook(['status', '--max-age', '26h'], env)).stdout.split('\n');
    const page = await words('/status');
    const checked = reported.find((line) => line.startsWith('checked'))!;
    expect(checked).toMatch(
      /^checked beyond the days read, by the last successful run: days without entries \(empty\), first openings \(first\), entries under two merchants \(shared\)$/,
    );
    const clock = reported.find((line) => line.startsWith('seen by run'))!;
    expect(clock).toContain("the platform's clock is 10 min behind");
    const zone = reported.find((line) => line.startsWith('time zone taken on trust'))!;
    for (const line of [checked, clock, zone]) expect(page).toContain(line);
    // The nights of the schedule are 24 hours apart, and two more are no reason to worry.
    expect(page).toContain('A last successful run older than 26h is marked');
    const marked = (age: string): RegExp => new RegExp(`(?<!successful run )older than ${age}`);
    expect(page).not.toMatch(marked(''));
    stage.setNow('2026-03-07T04:00:00+08:00');
    expect(await words('/status')).toMatch(marked('26h'));
    expect(await words('/status?max-age=2d')).not.toMatch(marked(''));
    expect(await words('/status?max-age=90m')).toMatch(marked('90m'));
    expect((await pages.get('/status?max-age=soon')).status).toBe(400);
  },
);
