/** No page asks its reader to type a command: it leads to where the same is done, or says who does it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cured, curedPart } from '../../../src/plugins/pages/html/cures.ts';
import { html } from '../../../src/plugins/pages/html/html.ts';
import { EN } from '../../../src/plugins/pages/html/texts/en.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';
import { FORM_TOKEN, showPages, textOf, type ShownPages } from './support.ts';

const { merchantNo } = MERCHANT;
/** What is folded away as a command. */
const FOLDED = /<details>.*?<\/details>/gs;
const COMMAND =
  /`|daybook (?:books|run|publish|breaks|quarantine|close|amendments|status|doctor|migrate|statements|merchants|runs|alerts|jobs|entries|reconcile|schedule)\b/;

describe('with a break, an unreadable entry, and days that were not read', () => {
  let stage: Stage;
  let pages: ShownPages;
  let breakId: number;
  beforeAll(async () => {
    const of = { merchant: merchantNo, currency: 'USD' };
    stage = await openStage({
      scenario: scenario({
        entriesPerDay: 20,
        planted: [
          { what: 'missing', ...of, day: '2026-03-03', nth: 9 },
          { what: 'malformed', ...of, day: '2026-03-04', nth: 5 },
        ],
      }),
    });
    await stage.run({ command: 'run', range: { from: '2026-03-02', to: '2026-03-04' } });
    stage.setNow('2026-03-07T01:30:00+08:00');
    await stage.run({ command: 'sync', range: { from: '2026-03-05', to: '2026-03-05' } });
    pages = await showPages(stage);
    const row = await stage.app.database.db
      .selectFrom('continuity_break')
      .select('id')
      .executeTakeFirstOrThrow();
    breakId = row.id;
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  test('each page says what to do without a command', async () => {
    const asked = await pages.post('/work', {
      form_token: FORM_TOKEN,
      ...{ kind: 'publish', merchant: merchantNo, from: '2026-03-03', to: '2026-03-03' },
    });
    for (const path of [
      '/?month=2026-03',
      `/m/${merchantNo}/2026-03?close=yes`,
      `/m/${merchantNo}/USD/2026-03-03`,
      `/m/${merchantNo}/USD/2026-03-04`,
      ...['/breaks', `/breaks/${breakId}`, '/status', '/work', '/unreadable', '/changes?since=2026-03-01'],
      asked.headers.get('location')!,
    ])
      expect(textOf((await pages.html(path)).replace(FOLDED, '')), path).not.toMatch(COMMAND);
  });

  test('the obstacles of a month lead to the break, the unreadable entries and the form that reads again', async () => {
    const shown = await pages.html(`/m/${merchantNo}/2026-03?close=yes`);
    expect(shown).toContain(`<a href="/breaks/${breakId}">Break ${breakId}</a>, then “Resolve”`);
    expect(shown).toContain('<a href="/unreadable">Unreadable entries</a>, then “Acknowledge” on its page');
    expect(shown).toContain(`<a href="/m/${merchantNo}/2026-03#work">“Read again”</a>`);
  });
});

const shownOf = (text: string): string => String(html`${curedPart(EN, text)}`);

test.each([
  ['see `daybook breaks`', 'see <a href="/breaks">Breaks</a>'],
  ['as said (`daybook amendments`, `daybook quarantine`).', 'Unreadable entries</a>).'],
  ['`daybook publish --from 2026-03-01 --to 2026-03-02 --merchant M-1`', '<a href="/m/M-1/2026-03#work">'],
  ['or `daybook publish` does', 'or <a href="/">“Publish again”</a> does'],
  ['`daybook close 2026-02 --merchant M-1` makes the next close', '<a href="/m/M-1/2026-02#close">'],
  ['months (`daybook close YYYY-MM --merchant NO --approve`):', 'the page of the month'],
  ['`daybook status` tells', '<a href="/status">Status</a> tells'],
])('%s', (text, inPlace) => {
  expect(shownOf(text)).toContain(inPlace);
  expect(cured(EN, text).isOnPages).toBe(true);
});

test.each([
  ['`daybook statements adopt`', 'the administrator of daybook does this'],
  ['its tables are missing; run `daybook migrate`', 'missing; run the administrator’s command'],
  ['`daybook amendments accept --merchant M-1`', 'the administrator of daybook does this'],
  [
    '`daybook jobs list` says why, `daybook jobs redrive` sends them back',
    'the administrator’s command 1 says why, the administrator’s command 2 sends',
  ],
])('%s is the administrator’s, folded away as a command', (text, said) => {
  const shown = shownOf(text);
  expect(textOf(shown.replace(FOLDED, ''))).toContain(said);
  expect(textOf(shown.replace(FOLDED, ''))).not.toMatch(COMMAND);
  for (const [, command] of text.matchAll(/`([^`]+)`/g)) expect(shown).toContain(command);
  expect(cured(EN, text).isOnPages).toBe(false);
});

test('a text of the platform in a sentence stays text', () => {
  expect(shownOf('it said `<b>daybook</b>`')).toContain('&lt;b&gt;');
});
