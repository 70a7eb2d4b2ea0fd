/** A token that cannot be read only affects its own merchant. The night continues for the others. */
import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { chosenMerchants, oneMerchant } from '../../src/run/chosen-merchants.ts';
import { exitCodeOf } from '../../src/run/verdict/exit-codes.ts';
import { addMerchant, setMerchantStatus } from '../../src/store/merchants.ts';
import { MERCHANT, openStage, OTHER, scenario, storedOf, truthOf, type Stage } from '../support/stage.ts';

const NOW = new Date('2026-03-01T00:00:00Z');
const current = { id: 'k2', key: randomBytes(32) };
const retired = { id: 'k1', key: randomBytes(32) };
const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});

/** Two stored merchants. `spoil` changes the token of the second. */
async function night(spoil: (stage: Stage) => Promise<unknown>): Promise<Stage> {
  const merchants = [MERCHANT, OTHER].map((merchant) => ({ ...merchant, currencies: ['USD'] }));
  const stage = await openStage({
    scenario: scenario({ merchants }),
    platform: { merchant: null },
    settings: { secretKeys: [current] },
  });
  stages.push(stage);
  for (const merchant of [MERCHANT, OTHER]) {
    await addMerchant(stage.app.database.db, { ...merchant, secretKeys: [current], now: NOW });
  }
  await spoil(stage);
  return stage;
}
const underRetiredKey = ({ app: { database } }: Stage) =>
  addMerchant(database.db, { ...OTHER, secretKeys: [retired], now: NOW });
const ciphertext =
  (token_ciphertext: string) =>
  ({ app: { database } }: Stage) =>
    database.db
      .updateTable('merchant')
      .set({ token_ciphertext })
      .where('merchant_no', '=', OTHER.merchantNo)
      .execute();

test.each([
  ['under a retired key', underRetiredKey, /key "k1", which DAYBOOK_SECRET_KEYS does not have; put it back/],
  ['altered', ciphertext('v1:k2:AAAA:AAAA:AAAA'), /cannot be read with key "k2".*put the key/],
  ['of another version', ciphertext('v9:k2:AAAA'), /not in a form this version can read/],
  ['that is no ciphertext at all', ciphertext(''), /not in a form this version can read/],
])('a token %s: reported with what to do, and the others are complete', async (_, spoil, problem) => {
  const stage = await night(spoil);
  const { app } = stage;
  const report = await stage.run({ merchants: await chosenMerchants(app, null) });
  expect(report.exitCode).toBe(4);
  expect(report.notes).toEqual([expect.stringMatching(problem)]);
  expect(report.notes[0]).toMatch(
    /^SBX-M-2: token_ciphertext .*`daybook merchants add --merchant-no SBX-M-2/,
  );
  expect(await storedOf(stage)).toEqual(truthOf(stage));
  expect(report.publish!.published).toHaveLength(4);

  // A run for the first merchant alone is not affected. A run for the second ends before anything is started.
  expect(await stage.run({ merchants: await chosenMerchants(app, [MERCHANT.merchantNo]) })).toMatchObject({
    exitCode: 0,
    notes: [],
  });
  expect(await oneMerchant(app, MERCHANT.merchantNo)).toEqual(MERCHANT);
  const asks = [
    (): Promise<unknown> => chosenMerchants(app, [OTHER.merchantNo]),
    (): Promise<unknown> => oneMerchant(app, OTHER.merchantNo),
  ];
  for (const ask of asks) {
    const refusal: unknown = await ask().catch((error: unknown) => error);
    expect([exitCodeOf(refusal), (refusal as Error).message]).toEqual([2, expect.stringMatching(problem)]);
  }
  await addMerchant(app.database.db, { ...OTHER, secretKeys: [current], now: NOW });
  expect(await stage.run({ merchants: await chosenMerchants(app, null) })).toMatchObject({ exitCode: 0 });
  expect(await storedOf(stage, OTHER.merchantNo)).toEqual(truthOf(stage, OTHER.merchantNo));
});

test('if no token can be read, nothing is started', async () => {
  const stage = await night(underRetiredKey);
  const app = { ...stage.app, settings: { ...stage.app.settings, secretKeys: [] } };
  const refusal: unknown = await chosenMerchants(app, null).catch((error: unknown) => error);
  expect(exitCodeOf(refusal)).toBe(2);
});

test('without a merchant to read, it says how to add one, and of whom only the token is missing', async () => {
  const stage = await openStage({ platform: { merchant: null } });
  stages.push(stage);
  const { app } = stage;
  const { db } = app.database;
  const said = (asked: readonly string[] | null) =>
    chosenMerchants(app, asked).catch((error: unknown) => [exitCodeOf(error), (error as Error).message]);
  const none =
    'there is no merchant whose ledger could be read: set PLATFORM_MERCHANT_NO and PLATFORM_TOKEN, or add one with ' +
    '`daybook merchants add --merchant-no NO --token-stdin`.';
  expect(await said(null)).toEqual([2, none]);
  expect(await said(['M1'])).toEqual([2, none]);
  await addMerchant(db, { merchantNo: 'M1', token: null, secretKeys: [], now: NOW });
  const lacking =
    ' M1 is not read, though it is active or has a ledger here: neither the settings nor the database have its token.';
  expect(await said(null)).toEqual([2, none + lacking]);
  for (const merchant of [MERCHANT, OTHER])
    await addMerchant(db, { ...merchant, secretKeys: [current], now: NOW });
  await setMerchantStatus(db, OTHER.merchantNo, 'disabled', NOW);
  const readable = { ...app, settings: { ...app.settings, secretKeys: [current] } };
  await expect(chosenMerchants(readable, [OTHER.merchantNo])).rejects.toThrow(
    `merchant ${OTHER.merchantNo} is unknown or disabled; known: ${MERCHANT.merchantNo}.`,
  );
});
