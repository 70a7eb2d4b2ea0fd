/** @module-tag long */
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../../src/ledger/money.ts';
import { exitCodeOf } from '../../src/run/verdict/exit-codes.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { below } from '../../src/plugins/sandbox/ledger.ts';
import {
  accountDays,
  footprints,
  MERCHANT,
  objectsOf,
  openStage,
  OTHER,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';
import { acceptSilent } from '../../src/store/silent-accounts.ts';
import { chanceOf, drawnChange, drawnHostility, drawnScenario, FIRST_DAY, LAST_DAY } from './months.ts';

const MERCHANTS = [MERCHANT, OTHER];
const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 6);
const FIRST_SEED = Number(process.env['SIMULATION_FIRST_SEED'] ?? 1);

let stage: Stage;
afterEach(() => stage.close());

/** What can be read of the entries that the platform shows: those with exactly one amount. */
const readable = (merchantNo: string) =>
  truthOf(stage, merchantNo).filter(({ credit, debit }) => (credit === null) !== (debit === null));

async function expectWhole(): Promise<void> {
  for (const { merchantNo } of MERCHANTS)
    expect(await storedOf(stage, merchantNo)).toEqual(readable(merchantNo));
  const objects = await objectsOf(stage);
  const closings = new Map<string, string>();
  for (const row of await accountDays(stage)) {
    const account = `${row.merchant_no} ${row.currency}`;
    const entries = readable(row.merchant_no).filter(
      ({ currency, booked_at }) => currency === row.currency && booked_at.startsWith(row.day),
    );
    const sum = (amounts: readonly (string | null)[]) =>
      amounts.filter((amount) => amount !== null).reduce((total, amount) => addAmounts(total, amount), '0');
    expect(compareAmounts(row.credit_total, sum(entries.map(({ credit }) => credit)))).toBe(0);
    expect(compareAmounts(row.debit_total, sum(entries.map(({ debit }) => debit)))).toBe(0);
    expect(row.credit_count + row.debit_count).toBe(entries.length);
    const foots = compareAmounts(
      subtractAmounts(addAmounts(row.opening, row.credit_total), row.debit_total),
      row.closing,
    );
    if (row.verdict !== 'broken') expect(foots, `${account} ${row.day}`).toBe(0);
    const before = closings.get(account);
    if (before !== undefined) expect(row.opening, `${account} ${row.day}`).toBe(before);
    closings.set(account, row.closing);

    // The current statement has exactly these entries.
    const csv = objects.get(
      `merchant=${row.merchant_no}/date=${row.day}/${row.merchant_no}_${row.currency}_${row.day}.r${row.revision}.csv`,
    );
    const batchNos = csv!
      .split('\r\n')
      .slice(1, -1)
      .map((line) => line.slice(0, line.indexOf(',')));
    expect(batchNos.sort()).toEqual(entries.map(({ batch_no }) => batch_no).sort());
  }
  const folder = fileURLToPath(stage.app.settings.statementsUrl);
  expect(await verifyPaths([folder])).toMatchObject({ problems: [] });
}

test.each(Array.from({ length: SEEDS }, (_, n) => FIRST_SEED + n))(
  'seed %d: whatever happened before, one calm run completes everything, and the next one changes nothing',
  async (seed) => {
    const random = chanceOf(seed);
    const scenario = drawnScenario(random);
    stage = await openStage({
      scenario,
      platform: { retriesMax: 2 },
      settings: { resweepDays: below(random, 4) },
    });
    const taken: [string, string][] = [];
    for (let day = FIRST_DAY; day < addDays(LAST_DAY, 2); day = addDays(day, 1)) {
      stage.setNow(`${day}T20:00:00Z`);
      drawnChange(random, stage, taken);
      stage.sandbox.setHostility(drawnHostility(random));
      const stop = new AbortController();
      let steps = random() < 0.2 ? below(random, 12) : -1;
      const onProgress = (): void => {
        if (steps-- === 0) stop.abort(new Error('stopped'));
      };
      const end = await stage
        .run({ range: null, merchants: MERCHANTS }, { signal: stop.signal, onProgress })
        .then(({ exitCode }) => exitCode, exitCodeOf);
      expect([0, 3, 4], `${day} ended with ${end}`).toContain(end);
    }
    stage.sandbox.setHostility({});
    // The ledger ends before the last night. Somebody asked, and nothing was booked since.
    await stage.app.database.db
      .transaction()
      .execute((trx) => acceptSilent(trx, { merchants: null, currencies: null }, stage.app.now()));
    const range = { from: FIRST_DAY, to: LAST_DAY };
    const calm = await stage.run({ range, merchants: MERCHANTS });
    expect([0, 3], calm.notes.join('\n')).toContain(calm.exitCode);
    await expectWhole();

    const [rows, objects] = [await footprints(stage), await objectsOf(stage)];
    const again = await stage.run({ range, merchants: MERCHANTS });
    expect(again.exitCode).toBe((await openBreaksOrWrecks()) ? 3 : 0);
    expect(await footprints(stage)).toEqual(rows);
    expect(await objectsOf(stage)).toEqual(objects);
  },
);

/** Whether something still needs a person: an open break or an entry in quarantine. */
async function openBreaksOrWrecks(): Promise<boolean> {
  const { db } = stage.app.database;
  const breaks = await db.selectFrom('continuity_break').select('id').where('status', '=', 'open').execute();
  const wrecks = await db
    .selectFrom('quarantined_entry')
    .select('id')
    .where('released_at', 'is', null)
    .execute();
  return breaks.length + wrecks.length > 0;
}
