/** No text can turn the direction of what a person reads, or hide in it: wherever it stands, it is spelled out. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFormats } from '../../../../src/plugins/pages/html/format.ts';
import { html } from '../../../../src/plugins/pages/html/html.ts';
import { BROKEN_DAY, usePagesStage } from '../stage.ts';

const HIDDEN = /[\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/u;
const TYPE = 'PAY\u202e\u200b\u2066OUT';
const NUMBER = 'B\u200d1\ufeff';

const { stage, pages } = usePagesStage();

test('a value shows each hidden character, in text, attributes and lists', () => {
  const unit = fc.constantFrom(
    'a',
    '<',
    '\n',
    '\t',
    '\u202e',
    '\u2067',
    '\u200b',
    '\u00ad',
    '\ufeff',
    '\u061c',
    '\u2800',
  );
  const linesOf = (text: string): number => text.split('\n').length - 1;
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      const made = String(html`<i title="${text}">${[text, [html`<b>${text}</b>`]]}</i>`);
      expect(made).not.toMatch(HIDDEN);
      expect(linesOf(made)).toBe(3 * linesOf(text));
    }),
  );
  expect(String(html`<b>${'a\u202eb'}</b>`)).toBe('<b>a\\u202eb</b>');
});

test.each(['ar', 'he', 'fa', 'ur'])(
  'in %s, amounts have no marks to spell out, and dates keep theirs',
  async (locale) => {
    const { amount, count, shown } = createFormats('Asia/Shanghai')(locale, false);
    expect([amount('-1234.50'), count(-1_234)].join('')).not.toMatch(/\p{Cf}/u);
    const parts = [
      shown.day('2026-03-31'),
      shown.instant(new Date('2026-03-31T01:02:03Z')),
      shown.month('2026-03'),
    ];
    for (const path of ['/m/SBX-M-1/2026-03', `/m/SBX-M-1/USD/${BROKEN_DAY}`, '/status'])
      expect(await pages().html(path, { 'accept-language': locale })).not.toContain('\\u');
    expect(String(html`${parts}`)).not.toContain('\\u');
  },
);

test('a number or type of the platform is shown so on every page that has it, its title included', async () => {
  const { db } = stage().app.database;
  const ofDay = db
    .selectFrom('ledger_entry')
    .select('batch_no')
    .where('currency', '=', 'USD')
    .where('booked_at', '>=', `${BROKEN_DAY} 00:00:00` as never)
    .orderBy('booked_ms')
    .limit(1);
  await db
    .updateTable('ledger_entry')
    .set({ batch_no: NUMBER, transaction_type: TYPE })
    .where('batch_no', '=', ofDay)
    .where('currency', '=', 'USD')
    .execute();
  const entry = `/entry/SBX-M-1/${encodeURIComponent(NUMBER)}`;
  const day = await pages().html(`/m/SBX-M-1/USD/${BROKEN_DAY}`);
  expect(day).toContain('PAY\\u202e\\u200b\\u2066OUT');
  expect(day).toContain(`href="${entry}"`);
  const shown = await pages().html(entry);
  expect(/<title>(.*)<\/title>/.exec(shown)![1]).toContain('B\\u200d1\\ufeff');
  const found = await pages().html(`/entry?number=${encodeURIComponent(`${NUMBER}\u202e`)}`);
  for (const page of [day, shown, found]) expect(page).not.toMatch(HIDDEN);
});
