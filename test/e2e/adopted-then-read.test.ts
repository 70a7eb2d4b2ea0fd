/** After a store was adopted, nothing in it is revised before what it says is read, and what is not read is not said to have changed. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { statementKey } from '../../src/statements/keys.ts';
import { entriesOfAmounts } from '../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';

const { merchantNo } = PLAIN_MERCHANT;
const DAYS = Array.from({ length: 20 }, (_, nth) => `2026-03-${String(nth + 1).padStart(2, '0')}`);
const ENTRIES = entriesOfAmounts(
  'USD',
  [...DAYS, '2026-03-21', '2026-03-22', '2026-03-23'].flatMap((day): [string, string, number][] => [
    [`${day}-1`, `${day} 10:00:00`, 500],
    [`${day}-2`, `${day} 16:00:00`, -200],
  ]),
  10_000,
);

let stage: PlainStage;
afterEach(() => stage.close());

const revisions = async (): Promise<Record<string, number>> => {
  const rows = await stage
    .app()
    .database.db.selectFrom('statement')
    .select(['day', 'revision'])
    .where('revision', '>', 1)
    .execute();
  return Object.fromEntries(rows.map(({ day, revision }) => [day, revision]));
};
const night = async (day: string) => {
  stage.setNow(`${day}T01:30:00+08:00`);
  return stage.night();
};
async function adopted(): Promise<void> {
  stage = await openPlainStage(ENTRIES, '2026-03-21T01:30:00+08:00');
  await stage.run(DAYS[0]!, DAYS.at(-1)!);
  await stage.newDatabase();
  await stage.adopt();
}

test('nights after an adoption, a run of the older days and a repair revise nothing: all is as it was published', async () => {
  await adopted();
  for (const day of ['2026-03-21', '2026-03-22', '2026-03-23']) {
    const report = await night(day);
    expect(report.reasons.map(({ what }) => what)).toEqual([
      `${merchantNo} USD: 12 days with an adopted statement that this database has not read: 2026-03-01 to 2026-03-12`,
    ]);
    expect(report.exitCode).toBe(3);
    expect(await revisions()).toEqual({});
  }
  await stage.run(DAYS[0]!, DAYS.at(-1)!);
  expect(await revisions()).toEqual({});
  const after = await night('2026-03-24');
  expect(after.reasons.map(({ what }) => what)).toEqual([]);
  expect(after.exitCode).toBe(0);
  expect(await revisions()).toEqual({});
});

test('a lost file of a day that was adopted and not read is not said to have other entries', async () => {
  await adopted();
  const lost = statementKey({ merchantNo, currency: 'USD' }, DAYS[1]!, 1);
  await rm(join(stage.folder, lost));
  const repair = () => stage.run(DAYS[0]!, DAYS.at(-1)!, { command: 'publish', range: null, repairs: true });
  const { publish } = await repair();
  expect(publish?.unrepaired).toMatchObject([
    {
      key: lost,
      why: expect.stringMatching(/^this database has not read the day since its statement was adopted/),
    },
  ]);
  await stage.run(DAYS[0]!, DAYS.at(-1)!);
  expect((await repair()).publish).toMatchObject({ unrepaired: [] });
});

test('days read in any order after an adoption, one by one and with a gap before them, leave every statement as it was', async () => {
  await adopted();
  for (const [from, to] of [
    [DAYS[4]!, DAYS[4]!],
    [DAYS[11]!, DAYS.at(-1)!],
    [DAYS[8]!, DAYS[9]!],
    [DAYS[0]!, DAYS[2]!],
  ] as const) {
    await stage.run(from, to);
    expect(await revisions()).toEqual({});
  }
  await stage.run(DAYS[0]!, DAYS.at(-1)!);
  expect(await revisions()).toEqual({});
  const after = await night('2026-03-21');
  expect(after.reasons.map(({ what }) => what)).toEqual([]);
});

test('what the platform changed since is one revision, with its own reason', async () => {
  await adopted();
  stage.entries = ENTRIES.map((entry) =>
    entry.batchNo === `${DAYS[12]!}-1` ? { ...entry, busiType: '09' } : entry,
  );
  await night('2026-03-21');
  expect(await revisions()).toEqual({ [DAYS[12]!]: 2 });
  await stage.run(DAYS[0]!, DAYS.at(-1)!);
  expect(await revisions()).toEqual({ [DAYS[12]!]: 2 });
});

test('a first day that does not go on from what the store says of the day before it is held until that is read', async () => {
  await adopted();
  // What was on the day before was not so: the platform has an entry more there, and all later balances are higher.
  stage.entries = ENTRIES.map((entry) =>
    entry.busiDate < DAYS[11]!
      ? entry
      : { ...entry, vailAmount: entry.vailAmount + (entry.busiDate >= DAYS[12]! ? 50 : 0) },
  );
  const held = await night('2026-03-21');
  expect((await revisions())[DAYS[12]!]).toBeUndefined();
  expect(held.reasons.map(({ what }) => what).join()).toContain(
    `${DAYS[12]!} is not published: ${DAYS[11]!} is published with the closing`,
  );
});
