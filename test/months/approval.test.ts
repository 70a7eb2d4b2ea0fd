/** A month is prepared by one person and approved by another one: never by one alone, and never as anything but what was prepared. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CloseFile } from '../../src/verify/close-file.ts';
import { keyPairOf, readPublicKey } from '../../src/signing.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { verifyPaths } from '../statements/verified-twice.ts';
import { pagesOf, textOf as pdfTextOf } from '../support/read-pdf.ts';
import { showPages } from '../plugins/pages/support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const MONTH = '2026-02';
const RANGE = { from: '2026-02-01', to: '2026-02-28' };
const PAIR = keyPairOf(Buffer.alloc(32, 3), Buffer.alloc(8, 3));

let stage: Stage;
let env: Env;
let revisions = 0;
beforeAll(async () => {
  const days = { from: '2026-02-26', to: '2026-02-28' };
  stage = await openStage({
    scenario: scenario({ ...days, entriesPerDay: 6, now: '2026-03-01T01:30:00+08:00' }),
  });
  env = {
    ...envOf(stage),
    DAYBOOK_CLOSE_APPROVAL: 'required',
    DAYBOOK_SIGNING_KEY: PAIR.secretKey,
  };
  await night();
});
afterAll(() => stage.close());

const night = () => daybook(['run', '--from', RANGE.from, '--to', RANGE.to], env);
const close = (by: string, ...flags: string[]) =>
  daybook(['close', MONTH, '--merchant', merchantNo, '--by', by, ...flags], env);
const closes = () =>
  stage.app.database.db
    .selectFrom('month_close')
    .select(['number', 'reopened_event_id'])
    .orderBy('number')
    .execute();
const causeOf = ({ stdout }: { readonly stdout: string }): string | undefined =>
  (JSON.parse(stdout) as [{ readonly others?: readonly { readonly cause: string }[] }])[0].others?.[0]?.cause;
const fileOf = async (number: number): Promise<CloseFile> =>
  JSON.parse(
    await readFile(join(folder(), `close=${MONTH}/${merchantNo}_${MONTH}.close${number}.json`), 'utf8'),
  ) as CloseFile;
const folder = (): string => join(stage.app.settings.dataDir, 'statements', `merchant=${merchantNo}`);
/** The platform changes an entry of a day, which its next reading shows. */
const amend = (day = '2026-02-27'): void => {
  const entry = stage.sandbox
    .entriesOf(merchantNo)
    .find(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith(day))!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: `AMENDED ${(revisions += 1)}` });
};

describe('two persons', () => {
  it('one alone closes nothing, however the name is typed', async () => {
    const alone = await close('Ada', '--json');
    expect([alone.code, causeOf(alone)]).toEqual([3, 'not-prepared']);
    const early = await close('Grace', '--approve', '--json');
    expect([early.code, causeOf(early)]).toEqual([3, 'not-prepared']);
    expect((await close('Ada', '--prepare', '--note', 'all reviewed')).code).toBe(0);
    for (const name of ['Ada', ' ADA', 'aDa', 'Adа']) {
      const own = await close(name, '--approve', '--json');
      expect([own.code, causeOf(own)]).toEqual([3, 'own-preparation']);
    }
    expect(await closes()).toEqual([]);
  });

  it('the list and the status say that it waits', async () => {
    const listed = await daybook(['close', '--list'], env);
    expect(listed.stdout).toMatch(
      /2026-02 of \S+: prepared by Ada at .*, waits for approval by another person/,
    );
    const { stdout } = await daybook(['status'], env);
    expect(stdout).toContain('months that wait for approval');
    expect(stdout).toContain(`${MONTH} of ${merchantNo}: prepared by Ada`);
  });

  it('a preparation that stands is not replaced by another person, and can be withdrawn', async () => {
    const other = await close('Grace', '--prepare', '--json');
    expect([other.code, causeOf(other)]).toEqual([3, 'prepared']);
    expect((await close('Grace', '--withdraw')).stdout).toContain('by Ada is withdrawn');
    expect((await close('Grace', '--withdraw')).code).toBe(3);
    const late = await close('Grace', '--approve', '--json');
    expect([late.code, causeOf(late)]).toEqual([3, 'not-prepared']);
  });
});

describe('what was prepared is what is closed', () => {
  it('a revision, and then a break, make a preparation stale, and each is named', async () => {
    expect((await close('Ada', '--prepare')).code).toBe(0);
    amend();
    await night();
    const revised = await close('Grace', '--approve', '--json');
    expect([revised.code, causeOf(revised)]).toEqual([3, 'changed']);
    expect(revised.stdout).toContain('USD 2026-02-27 was revised from revision 1 to 2');
    expect((await close('Grace', '--prepare')).code).toBe(0);
    const entry = stage.sandbox
      .entriesOf(merchantNo)
      .filter(({ currency, busiDate }) => currency === 'KWD' && busiDate.startsWith('2026-02-27'))[2]!;
    stage.sandbox.takeOut(merchantNo, entry.batchNo);
    await stage.app.database.db
      .updateTable('account_day')
      .set({ published_version: 0 })
      .where('currency', '=', 'KWD')
      .where('day', '=', '2026-02-28')
      .execute();
    const due = await close('Ada', '--approve', '--json');
    expect(due.code).toBe(3);
    expect(due.stdout).toContain('KWD 2026-02-28 (not-published) is open now');
    stage.sandbox.putBack(merchantNo, entry.batchNo);
    await night();
    expect(await closes()).toEqual([]);
  });

  it('of two who approve at once while a run changes the month, one closes it, as it was prepared, or none does', async () => {
    expect((await close('Ada', '--withdraw')).code).toBe(0);
    expect((await close('Ada', '--prepare')).code).toBe(0);
    const { draft } = await stage.app.database.db
      .selectFrom('month_preparation')
      .select('draft')
      .executeTakeFirstOrThrow();
    amend();
    const [, ...ended] = await Promise.all([
      night(),
      close('Grace', '--approve', '--json'),
      close('Linus', '--approve', '--json'),
    ]);
    const results = ended.map(
      ({ stdout }) => (JSON.parse(stdout) as [{ readonly result: string }])[0].result,
    );
    if ((await closes()).length === 0) {
      for (const result of results) expect(['refused', 'open']).toContain(result);
      expect((await close('Ada', '--prepare')).code).toBe(0);
      expect((await close('Grace', '--approve')).code).toBe(0);
    } else {
      expect(results.filter((one) => one === 'closed')).toHaveLength(1);
      const { statements } = await fileOf(1);
      expect(statements).toEqual((JSON.parse(draft) as CloseFile).statements);
    }
    expect(await closes()).toHaveLength(1);
    expect(await stage.app.database.db.selectFrom('month_preparation').selectAll().execute()).toEqual([]);
  });

  it('of one who withdraws and one who approves at once, exactly one succeeds', async () => {
    amend();
    await night();
    expect((await close('Ada', '--prepare')).code).toBe(0);
    const before = (await closes()).length;
    const [withdrawn, approved] = await Promise.all([
      close('Ada', '--withdraw'),
      close('Grace', '--approve'),
    ]);
    expect([withdrawn.code, approved.code].sort()).toEqual([0, 3]);
    expect((await closes()).length - before).toBe(approved.code === 0 ? 1 : 0);
  });
});

describe('on record', () => {
  it('both persons are in the signed file, on the PDF, in the list, and the file is verified', async () => {
    if ((await closes()).length < 2) {
      await close('Ada', '--prepare');
      await close('Grace', '--approve');
    }
    const number = (await closes()).length;
    const file = await fileOf(number);
    expect([file.prepared?.by, file.by]).toEqual(['Ada', 'Grace']);
    const { problems } = await verifyPaths([folder()], STATEMENT_FORMATS, [readPublicKey(PAIR.publicKey)!]);
    expect(problems).toEqual([]);
    const pages = await showPages(stage);
    const pdf = await (await pages.get(`/download/${merchantNo}/${MONTH}.pdf`)).arrayBuffer();
    await pages.close();
    const text = pdfTextOf(await pagesOf(new Uint8Array(pdf)));
    expect(text).toMatch(/Prepared .* by Ada/);
    expect(text).toMatch(/Approved .* by Grace/);
    const { stdout } = await daybook(['close', '--list', '--json'], env);
    const listed = (JSON.parse(stdout) as { closes: { prepared: { by: string } | null }[] }).closes;
    expect(listed.at(-1)!.prepared!.by).toBe('Ada');
  });

  it('a month is reopened only for a reason, and the next close names who did it', async () => {
    const number = (await closes()).length;
    expect((await close('Ada', '--reopen', ' ')).code).toBe(2);
    expect((await close('Ada', '--reopen', 'invoice 7')).stdout).toContain('is open again');
    expect((await close('Ada', '--reopen', 'invoice 7')).code).toBe(3);
    expect((await closes()).at(-1)!.reopened_event_id).not.toBeNull();
    amend();
    await night();
    const { stdout } = await daybook(['status', '--json'], env);
    expect(JSON.parse(stdout)).toMatchObject([{ adjustments: [], preparations: [] }]);
    expect((await close('Grace', '--prepare')).code).toBe(0);
    expect((await close('Ada', '--approve')).code).toBe(0);
    const file = await fileOf(number + 1);
    expect(file.reopened).toMatchObject({ by: 'Ada', note: 'invoice 7' });
    expect(file.adjustments).toHaveLength(1);
    const { problems } = await verifyPaths([folder()], STATEMENT_FORMATS, [readPublicKey(PAIR.publicKey)!]);
    expect(problems).toEqual([]);
  });

  it('of one who reopens and one who closes again at once, the outcome is one of both', async () => {
    amend();
    await night();
    expect((await close('Ada', '--prepare')).code).toBe(0);
    const before = (await closes()).length;
    const [reopened, approved] = await Promise.all([
      close('Ada', '--reopen', 'too early'),
      close('Grace', '--approve'),
    ]);
    const now = await closes();
    if (reopened.code === 0 && approved.code === 0)
      // The one came after the other: the new close was reopened.
      expect(now.map((one) => one.reopened_event_id !== null).slice(-2)).toEqual([false, true]);
    else if (approved.code === 0) expect(now).toHaveLength(before + 1);
    else expect([now.length, reopened.code]).toEqual([before, 0]);
  });
});

it('without the setting, a step of two persons is a wrong use, and one person closes', async () => {
  const alone = { ...env, DAYBOOK_CLOSE_APPROVAL: 'none' };
  const ended = await daybook(['close', MONTH, '--merchant', merchantNo, '--prepare'], alone);
  expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('DAYBOOK_CLOSE_APPROVAL is none')]);
});
