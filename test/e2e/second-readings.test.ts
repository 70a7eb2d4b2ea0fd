/** Changes that one reading is not enough for, and a time zone that is trusted without proof. */
import { afterEach, describe, expect, test } from 'vitest';
import { dayOf } from '../../src/ledger/business-day.ts';
import { listQuarantine } from '../../src/store/quarantine.ts';
import { listVanished } from '../../src/store/amendments.ts';
import { TIME_ZONE_ON_TRUST } from '../../src/run/report.ts';
import { statusOf } from '../../src/run/status.ts';
import { acceptAllHeld } from '../support/held.ts';
import {
  DAYS,
  MERCHANT,
  NIGHT,
  objectsOf,
  openStage,
  publishedIn,
  scenario,
  storedOf,
  truthOf,
  ZONE,
  type Stage,
  type StageOptions,
} from '../support/stage.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const { merchantNo } = MERCHANT;
const DAY = '2026-03-03';
const NEXT_NOON = '2026-03-06T13:30:00+08:00';
let stage: Stage;
afterEach(() => stage.close());
const open = async (options: StageOptions = {}) => {
  stage = await openStage(options);
};

describe('a reading that lacks a whole day', () => {
  const takeOutDay = () => {
    const lost = stage.sandbox
      .entriesOf(merchantNo)
      .filter(({ bookedMs }) => dayOf(bookedMs, ZONE) === DAY)
      .map(({ batchNo }) => batchNo);
    for (const batchNo of lost) stage.sandbox.takeOut(merchantNo, batchNo);
    return lost;
  };

  test('empties no statement: the published day stays, is unproven, and the run is not green', async () => {
    await open();
    await stage.run();
    const objects = await objectsOf(stage);
    const stored = await storedOf(stage);
    const lost = takeOutDay();
    for (let night = 0; night < 2; night += 1) {
      const report = await stage.run();
      expect(report).toMatchObject({ exitCode: 4, publish: { published: [] } });
      expect(report.notes[0]).toContain(`${DAY}: `);
      expect(report.notes.join('\n')).toContain('gone all at the same time');
    }
    expect(await objectsOf(stage)).toEqual(objects);
    expect(await storedOf(stage)).toEqual(stored);
    const [status] = await statusOf(stage.app.database.db, [merchantNo], {
      zone: ZONE,
      now: new Date(NIGHT),
      maxAgeMs: null,
    });
    expect(status).toMatchObject({
      provenThrough: DAYS[0],
      missing: [{ why: expect.stringContaining(`${lost.length} stored entries were missing`) }],
    });

    for (const batchNo of lost) stage.sandbox.putBack(merchantNo, batchNo);
    expect(await stage.run()).toMatchObject({ exitCode: 0, publish: { published: [] } });
  });

  test('is not believed when a later run says the same, but when a person accepts it', async () => {
    await open();
    await stage.run();
    const lost = takeOutDay();
    expect(await stage.run()).toMatchObject({ exitCode: 4 });
    stage.setNow(NEXT_NOON);
    expect(await stage.run()).toMatchObject({ exitCode: 4, publish: { published: [] } });
    await acceptAllHeld(stage.app.database.db, stage.app.now());
    const report = await stage.run();
    expect(report.exitCode).toBe(3);
    expect(report.notes).toContain(
      `${lost.length} entries no longer shown by the platform: see \`daybook amendments\``,
    );
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });
});

test('a stored entry that becomes unreadable is quarantined; chain and statement keep the stored one', async () => {
  await open();
  await stage.run();
  const stored = await storedOf(stage);
  const objects = await objectsOf(stage);
  const entry = stage.sandbox.entriesOf(merchantNo)[5]!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { inAmount: '1.00', outAmount: '1.00' });
  const report = await stage.run();
  expect(report).toMatchObject({ exitCode: 3, publish: { published: [] } });
  expect(report.notes).toEqual(['1 unreadable entry in quarantine: see `daybook quarantine`']);
  const { db } = stage.app.database;
  expect(await listVanished(db)).toEqual([]);
  expect(await listQuarantine(db)).toMatchObject([{ batch_no: entry.batchNo }]);
  expect(await storedOf(stage)).toEqual(stored);
  const statements = (all: Map<string, string>) => [...all].filter(([key]) => key.endsWith('.csv'));
  expect(statements(await objectsOf(stage))).toEqual(statements(objects));
});

for (const { options, cases } of shortAndLong([1, -2]))
  test.each(cases)(
    'timestamps %i s off the times filtered by: all is read and published, and the same again later',
    options,
    async (lagS) => {
      const lag = { timeZoneOffsetHours: lagS / 3_600 };
      await open({ scenario: scenario({ hostility: lag }) });
      const report = await stage.run();
      expect([report.exitCode, report.notes]).toEqual([0, []]);
      expect(publishedIn(report)).toHaveLength(2 * DAYS.length);
      const inRange = truthOf(stage)
        .map((row) => ({ ...row, booked_ms: row.booked_ms + lagS * 1_000 }))
        .filter(({ booked_ms }) => DAYS.includes(dayOf(booked_ms, ZONE)))
        .map(({ batch_no }) => batch_no);
      expect((await storedOf(stage)).map(({ batch_no }) => batch_no)).toEqual(inRange);
      expect(await stage.run()).toMatchObject({ exitCode: 0, publish: { published: [] } });
    },
  );

test('a zone trusted without proof is reported by the run and by each manifest', async () => {
  await open({ platform: { timeZoneProof: 'trusted' } });
  const report = await stage.run();
  expect([report.exitCode, report.notes]).toEqual([0, [TIME_ZONE_ON_TRUST]]);
  const manifests = [...(await objectsOf(stage))].filter(([key]) => key.endsWith('manifest.json'));
  expect(manifests).toHaveLength(DAYS.length);
  for (const [, text] of manifests) {
    expect(JSON.parse(text)).toMatchObject({ timeZone: ZONE, timeZoneProof: 'trusted' });
  }
});
