/**
 * The end of a month on the pages, click by click over HTTP, with a month of days of its own and the pages in a process of
 * their own: from the home page to the month's workbook. A click is its form, where it has one, and the page that follows.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXIT } from '../../src/ledger/ending.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { openPlatformApp } from '../../src/run/app.ts';
import { doNextRequest } from '../../src/run/requests.ts';
import { count, timed, withDatabase, withSandbox, type Measure, type Measured } from '../measure.ts';
import { addMerchants, manyMerchants, nightEnv, type ManyMerchants } from '../merchants.ts';
import { startServing } from '../processes.ts';

const DAYS = 31;
const MONTH = '2026-03';
/** A workbook is made of the month's published files, whatever their size: it is no page. */
const PAGE_MS = 300;
const WORKBOOK_MS = 2_000;

export const monthEnd: Measure = {
  name: 'month-end',
  measure: async (bench) => {
    const entriesPerDay = bench.short ? 12 : 200;
    const many = withFaults(manyMerchants({ merchants: bench.short ? 2 : 20, days: DAYS, entriesPerDay }));
    const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
    try {
      return await withSandbox(bench, many.scenario, ({ url }) =>
        withDatabase(bench, async (database) => {
          const keys = await addMerchants(database, many);
          const statementsUrl = pathToFileURL(folder).href;
          const env = nightEnv({ url, database, statementsUrl, keys }, many.range.to);
          const work = { what: 'a month to close', command: 'run', range: many.range, env } as const;
          await bench.daybook({ ...work, endsWith: EXIT.needsPerson });
          const nextNight = () => bench.daybook(work);
          await database.settle();
          const key = keys['DAYBOOK_SECRET_KEYS']!.split(':')[1]!;
          const serving = await startServing({
            ...{ databaseUrl: database.url, key, folder, now: env['DAYBOOK_NOW']! },
            env: { DAYBOOK_ACCESS_ROLES: '{"*":"operator"}', DAYBOOK_CLOSE_APPROVAL: 'required' },
          });
          try {
            const { merchantNo } = many.merchants[0]!;
            return rowsOf(await journey(serving.pagesUrl, merchantNo, env, nextNight), entriesPerDay);
          } finally {
            await serving.stop();
          }
        }),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** The first merchant lacks an entry, and its last one cannot be read. */
const withFaults = (many: ManyMerchants): ManyMerchants => {
  const of = { merchant: many.merchants[0]!.merchantNo, currency: 'USD' };
  const last = many.scenario.entriesPerDay! - 1;
  const planted: ManyMerchants['scenario']['planted'] = [
    { what: 'missing', ...of, day: `${MONTH}-12`, nth: 5 },
    { what: 'malformed', ...of, day: many.range.to, nth: last },
  ];
  return { ...many, scenario: { ...many.scenario, planted } };
};

interface Click {
  readonly what: string;
  readonly ms: number;
}

async function journey(
  url: string,
  merchantNo: string,
  env: Readonly<Record<string, string>>,
  nextNight: () => Promise<unknown>,
): Promise<Click[]> {
  const clicks: Click[] = [];
  const home = `/?month=${MONTH}`;
  const [ada, grace] = [personAt(url, 'Ada', clicks), personAt(url, 'Grace', clicks)];
  // The server has answered others before.
  for (let before = 0; before < 20; before += 1) await ada.open('before', home);
  clicks.length = 0;
  await ada.open('the home page', home);
  await ada.follow('the red day', 'broken');
  await ada.follow('its break', /Break \d+/);
  await ada.submit('assign', 'Assign to me');
  await ada.submit('resolve', 'Resolve', { note: 'fee of the bank, case 4711' });
  await ada.submit('publish again', 'Publish again');
  await publishAgain(env);
  await ada.open('the work that is done', ada.path());
  await ada.open('the home page', home);
  await ada.follow('unreadable entries', /unreadable entr/);
  await ada.follow('an unreadable entry', /^(Unreadable entry.*|\d+)$/);
  await ada.submit('acknowledge', 'Acknowledge', { note: 'a test entry of the platform' });
  // Its day waited for that.
  await nextNight();
  await ada.open('the home page', home);
  await ada.follow('the month', `${merchantNo} USD`);
  await ada.follow('what is in the way', 'Prepare this month');
  await ada.submit('prepare', 'Prepare the month');
  await grace.open('the home page', home);
  await grace.follow('the month', `${merchantNo} USD`);
  await grace.follow('the prepared month', 'Approve or withdraw');
  await grace.submit('approve', 'Approve and close the month');
  await grace.follow('the workbook', /workbook/i);
  return clicks;
}

/** Does what was asked for, as a schedule does. */
async function publishAgain(env: Readonly<Record<string, string>>): Promise<void> {
  const app = await openPlatformApp(loadSettings({ env, readFile: () => '' }), { env });
  try {
    const done = await doNextRequest(app, new AbortController().signal);
    if (done?.outcome !== 'done') throw new Error(`publishing again: ${JSON.stringify(done)}`);
  } finally {
    await app.close();
  }
}

/** A person who clicks on links and buttons by their text. */
function personAt(url: string, name: string, clicks: Click[]) {
  let [path, page, cookie] = ['/', '', ''];
  const ask = async (to: string, body?: URLSearchParams): Promise<void> => {
    const headers = { 'x-person': name, cookie };
    const response = await fetch(new URL(to, url), { headers, ...(body && { method: 'POST', body }) });
    if (response.status !== 200)
      throw new Error(`${to}: ${response.status}: ${textOf(await response.text())}`);
    cookie ||= response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    page = Buffer.from(await response.arrayBuffer()).toString();
    ({ pathname: path } = new URL(response.url));
  };
  const click = async (what: string, to: string, body?: URLSearchParams): Promise<void> => {
    clicks.push({ what, ms: await timed(() => ask(to, body)) });
  };
  return {
    path: () => path,
    open: (what: string, to: string) => click(what, to),
    follow: (what: string, text: string | RegExp) => {
      const links = [...page.matchAll(/<a\b([^>]*)>(.*?)<\/a\s*>/gs)];
      const link = links.find(([, tag, inner]) =>
        says(/aria-label="([^"]*)"/.exec(tag!)?.[1] ?? inner!, text),
      );
      if (!link) throw new Error(`${path} has no link ${String(text)}`);
      const href = /href="([^"]*)"/.exec(link[1]!)![1]!.replaceAll('&amp;', '&');
      return click(what, new URL(href, new URL(path, url)).href);
    },
    submit: (what: string, button: string, fields: Readonly<Record<string, string>> = {}) => {
      const forms = [...page.matchAll(/<form\b([^>]*)>(.*?)<\/form\s*>/gs)];
      const form = forms.find(([, , inner]) =>
        [...inner!.matchAll(/<button\b[^>]*>(.*?)<\/button\s*>/gs)].some(([, text]) => says(text!, button)),
      );
      if (!form) throw new Error(`${path} has no button ${button}`);
      const sent = new URLSearchParams({ ...hiddenOf(form[2]!), ...fields });
      return click(what, /action="([^"]*)"/.exec(form[1]!)![1]!, sent);
    },
  };
}

const textOf = (inner: string): string =>
  inner
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
const says = (inner: string, text: string | RegExp): boolean =>
  typeof text === 'string' ? textOf(inner) === text : text.test(textOf(inner));

/** The fields that a form sends by itself, with the button's own. */
function hiddenOf(form: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<(?:input|button)\b[^>]*>/gs)) {
    const of = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
    const [name, value] = [of('name'), of('value')];
    if (name !== undefined && value !== undefined) fields[name] = value;
  }
  return fields;
}

function rowsOf(clicks: readonly Click[], entriesPerDay: number): Measured[] {
  const slowest = (some: readonly Click[]): Click =>
    some.reduce((one, other) => (other.ms > one.ms ? other : one));
  const [pages, workbook] = [clicks.slice(0, -1), clicks.at(-1)!];
  const page = slowest(pages);
  const of = `a month of ${DAYS} days of ${count(entriesPerDay)} entries`;
  return [
    row(`closing ${of}: the slowest of ${pages.length} clicks (${page.what})`, page.ms, PAGE_MS),
    row(`the workbook of ${of}`, workbook.ms, WORKBOOK_MS),
  ];
}

const row = (what: string, figure: number, limit: number): Measured => ({
  ...{ what, figure, limit, unit: 'ms', limitIs: 'set', ratio: figure / limit },
  target: { atMost: 1 },
});
