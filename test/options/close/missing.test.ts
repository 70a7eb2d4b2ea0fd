/** Where the option is not there, what it made is named and left as it is, and all the rest is done. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { underLeasesAsNeeded } from '../../../src/run/leases.ts';
import { statusOf } from '../../../src/run/status.ts';
import { adoptStore } from '../../../src/statements/adopt.ts';
import { CLOSE_UNKNOWN } from '../../../src/statements/closes.ts';
import { CSV } from '../../../src/statements/formats/csv.ts';
import { closeKey, manifestKey } from '../../../src/statements/keys.ts';
import { merchantMonth } from '../../../src/statements/month-files.ts';
import { monthOf } from '../../../src/statements/month.ts';
import { verifyPaths } from '../../../src/statements/verify.ts';
import { FORM_TOKEN, showPages, textOf } from '../pages/support.ts';
import { closeMarch } from '../pages/stage.ts';
import { FROM, MERCHANT, openStage, scenario, TO, type Stage } from '../../support/stage.ts';
import { without } from '../../support/without.ts';

const { merchantNo } = MERCHANT;
const MONTH = monthOf('2026-03')!;
const KEY = closeKey(merchantNo, MONTH.name, 1);

let stage: Stage;
let other: Stage;
let root: string;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 6 }) });
  root = join(stage.app.settings.dataDir, 'statements');
  await stage.run();
  await closeMarch(stage);
  other = await openStage({ scenario: scenario({ entriesPerDay: 6 }), objects: stage.app.objects });
});
afterAll(async () => {
  await other.close();
  await stage.close();
});

test('verify checks the days, and names the close as unread', async () => {
  const complete = await verifyPaths([root]);
  expect(complete).toMatchObject({ problems: [], closes: [{ number: 1 }] });
  const report = await without('close', () => verifyPaths([root]));
  expect(report).toEqual({
    ...complete,
    closes: [],
    problems: [{ path: join(root, KEY), problem: CLOSE_UNKNOWN }],
  });
});

test('adopting takes the days over, and leaves the close with the reason', async () => {
  const adopted = (by: Stage) => {
    const { db, holder, signal, objects, now } = by.deps();
    return underLeasesAsNeeded({ db, holder, signal }, (leaseOf, held) =>
      adoptStore({ db, leaseOf, objects, now, signal: held }),
    );
  };
  const report = await without('close', () => adopted(other));
  expect(report).toMatchObject({
    days: 4,
    statements: 8,
    closes: 0,
    left: [{ key: KEY, why: CLOSE_UNKNOWN }],
  });
  const { db } = other.app.database;
  expect(await db.selectFrom('month_close').selectAll().execute()).toEqual([]);
  await adopted(stage);
});

test('repairing writes the days again, and the close once the option is there', async () => {
  const manifest = manifestKey(merchantNo, FROM);
  for (const key of [KEY, manifest]) await rm(join(root, key));
  const repair = () =>
    stage
      .run({ command: 'publish', range: { from: FROM, to: TO }, repairs: true })
      .then(({ publish }) => publish!.repaired.map(({ key }) => key));
  expect(await without('close', repair)).toEqual([manifest]);
  expect(await repair()).toEqual([KEY]);
});

test('status, and a month’s files, say nothing of closes', async () => {
  const { database, objects, now, settings } = stage.app;
  const { db } = database;
  const month = () => merchantMonth({ db, objects, format: CSV, now }, merchantNo, MONTH, null);
  const complete = await month();
  expect(complete.accounts).toMatchObject([{ closed: 1 }, { closed: 1 }]);
  const { accounts, files } = await without('close', month);
  expect(accounts.map((account) => account.closed)).toEqual([undefined, undefined]);
  expect(files.map(({ key }) => key)).toEqual(
    complete.files.map(({ key }) => key).filter((key) => key !== KEY),
  );
  const clock = { zone: settings.platform.timeZone, now: now(), maxAgeMs: null };
  expect(await without('close', () => statusOf(db, [merchantNo], clock))).toMatchObject([
    { adjustments: [] },
  ]);
});

test('pages show the month, and offer no close', async () => {
  const pages = await showPages(stage);
  const path = `/m/${merchantNo}/${MONTH.name}`;
  const words = () => pages.html(path).then(textOf);
  expect(await words()).toContain('Adjustments since');
  const shown = await without('close', words);
  expect(shown).toContain('Days of KWD');
  expect(shown).not.toMatch(/clos(e|ed) (this|the) month|Adjustments since/i);
  const posted = await without('close', () => pages.post(path, { form_token: FORM_TOKEN }));
  expect(posted.status).toBe(404);
  await pages.close();
});
