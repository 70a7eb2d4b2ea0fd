/** The pages over a real server and database: what they show, whom they refuse, and what they leave in the audit. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessOf, FORM_TOKEN, showPages, textOf, type ShownPages } from './support.ts';
import { STATEMENT_FORMATS } from '../../../src/statements/formats/all.ts';
import { BROKEN_DAY, openPagesStage, REVISED_DAY } from './stage.ts';
import { MERCHANT, objectsOf, type Stage } from '../../support/stage.ts';

let stage: Stage;
let pages: ShownPages;
beforeAll(async () => {
  stage = await openPagesStage(async (early) => {
    const shown = await showPages(early);
    await (await shown.get(`/download/SBX-M-1/KWD/${REVISED_DAY}`)).text();
    await shown.close();
  });
  pages = await showPages(stage);
});
afterAll(async () => {
  await pages.close();
  await stage.close();
});

const words = async (path: string): Promise<string> => textOf(await pages.html(path));
const database = () => stage.app.database.db;
/** That of USD is open, that of KWD has healed. */
const breakOf = async (currency: 'USD' | 'KWD'): Promise<number> =>
  (
    await database()
      .selectFrom('continuity_break')
      .select('id')
      .where('currency', '=', currency)
      .executeTakeFirstOrThrow()
  ).id;
const openBreak = () => breakOf('USD');
const auditEvents = () =>
  database()
    .selectFrom('audit_event')
    .select(['by_whom', 'command', 'subject', 'note'])
    .orderBy('id')
    .execute();

describe('what they show', () => {
  test('a mark for each day of each account, and which were revised since this person downloaded them', async () => {
    const html = await pages.html('/?month=2026-03');
    const cells = [
      ...html.matchAll(/<a\s+class="\S+"\s+href="\/m\/SBX-M-1\/(\w+)\/(\S+?)"\s+aria-label="([^"]+)"/g),
    ];
    expect(cells.map(([, currency, day, label]) => `${currency!} ${day!} ${label!}`)).toEqual([
      'KWD 2026-03-02 proven',
      'KWD 2026-03-03 proven',
      'KWD 2026-03-04 proven, revised since you downloaded it',
      'KWD 2026-03-05 proven',
      'KWD 2026-03-06 not complete yet',
      'USD 2026-03-02 proven',
      'USD 2026-03-03 broken',
      'USD 2026-03-04 proven',
      'USD 2026-03-05 proven',
      'USD 2026-03-06 not complete yet',
    ]);
    expect(await words('/?month=2026-03&q=nobody')).toContain('No account matches.');
    expect(await words('/?month=2026-03&after=SBX-M-1%20KWD')).not.toContain('KWD');
  });

  test('a month in figures, with what is open', async () => {
    const html = await pages.html('/m/SBX-M-1/2026-03');
    const text = textOf(html);
    expect(html).toMatch(
      /\/2026-02\?currency=KWD">← February 2026<.*\/2026-04\?currency=KWD">April 2026 →</s,
    );
    expect([...html.matchAll(/<th scope="col"[^>]*>([^<]*)</g)].map(([, head]) => head)).toEqual([
      ...['Day', 'State', 'Opening', 'Credits', 'Debits', 'Closing', 'Entries', 'Statement'],
    ]);
    expect(text).toContain(
      'Statements of 2 Mar 2026 – 5 Mar 2026 The month in KWD Opening 0.000 + Credits (125 entries) 48,866,277.100 ' +
        '− Debits (115 entries) 27,216,675.530 Closing 21,649,601.570 Days still open not read completely: 1 Mar 2026, ' +
        '6 Mar 2026 not over: 7 Mar 2026 – 31 Mar 2026',
    );
    expect(await words('/m/SBX-M-1/2026-03?currency=USD')).toContain(
      'Opening 0.00 + Credits (109 entries) 37,554,408.63 − Debits (130 entries) 36,060,078.71 = Expected closing 1,494,329.92 ' +
        'Closing 1,494,023.77 Unexplained difference -306.15 Days still open not read completely: 1 Mar 2026, 6 Mar 2026 ' +
        'broken: 3 Mar 2026 not over: 7 Mar 2026 – 31 Mar 2026',
    );
    expect(text).toContain(
      '4 Mar 2026 ✓ ↓ proven, revised since you downloaded it 12,821,670.880 12,959,900.610 11,732,314.720 ' +
        '14,049,256.770 60 r2',
    );
    expect(await words('/m/SBX-M-1/2026-03?currency=USD')).toContain(
      `3 Mar 2026 ✗ broken Break ${await openBreak()} 910,135.50 16,026,282.07 4,517,572.90 12,418,538.52 59 r1`,
    );
  });

  test('a day: figures, the balance drawn with its break, entries in order, certificates', async () => {
    const html = await pages.html(`/m/SBX-M-1/USD/${BROKEN_DAY}`);
    const text = textOf(html);
    const id = await openBreak();
    expect(text).toContain(
      'Published, r1 Opening 910,135.50 + Credits (24 entries) 16,026,282.07 − Debits (35 entries) 4,517,572.90 ' +
        '= Expected closing 12,418,844.67 Closing 12,418,538.52 Unexplained difference -306.15',
    );
    expect(text).not.toContain('Known now');
    expect(text).toContain('Between 907,451.92 USD and 12,567,323.74 USD, with 1 break marked.');
    // Once for a wide screen and once for a narrow one.
    expect(html.match(/<line class="mark"/g)).toHaveLength(2);
    expect(text).toContain('Entries 1 to 59 of 59');
    expect(text).toMatch(
      new RegExp(
        `06:05:38 SETTLE 2,160,250.00 8,761,955.42 Break ${id}: a net debit of 306.15 USD is unexplained between these two entries SBX`,
      ),
    );
    expect(text).toContain('3 Mar 2026, 00:00:00 3 Mar 2026, 23:59:59 119 119 0 6 Mar 2026, 01:30:00');
  });

  test('entries are searched by number, amount and time, and sorted', async () => {
    const rows = async (query: string): Promise<string[]> => {
      const html = await pages.html(`/m/SBX-M-1/USD/${BROKEN_DAY}?${query}`);
      return [...html.matchAll(/\/entry\/SBX-M-1\/(\w+)"/g)].map(([, batchNo]) => batchNo!);
    };
    expect(await rows('q=SBX1470407409798')).toEqual(['SBX1470407409798']);
    expect(await rows('q=2,160,250.00')).toEqual(['SBX1470407409798']);
    expect((await rows('q=settle')).length).toBeGreaterThan(5);
    expect(await rows('q=23:00')).toEqual(['SBX1472338249798']);
    expect((await rows('sort=largest'))[0]).toBe('SBX1470117783798');
    expect((await rows('sort=latest'))[0]).toBe('SBX1472338249798');
    expect(await rows('page=2')).toHaveLength(59);
    expect(await rows('q=%25')).toEqual([]);
  });

  test('two revisions side by side, with the reason and the cause of each row', async () => {
    const text = await words(`/m/SBX-M-1/KWD/${REVISED_DAY}?revision=2&against=1`);
    expect(text).toContain('Credits 12,955,820.530 12,959,900.610');
    expect(text).toMatch(/Verdict broken continuous .*1 entry added, 0 removed, 0 changed\./);
    expect(text).toMatch(
      /added SBX\d+ 03:30:25 [A-Z]+ 4,080\.080 10,679,613\.870 late entry, first seen 7 Mar 2026, 01:30:00; heals break \d+/,
    );
    expect((await pages.get(`/m/SBX-M-1/KWD/${REVISED_DAY}?revision=3&against=1`)).status).toBe(404);
  });

  test.each([
    ['revision=1', 1],
    ['revision=1&digits=exact', 1],
    ['revision=2&against=1', 2],
    ['', 2],
  ])('a day with ?%s shows and links the files of revision %i', async (query, revision) => {
    const path = `/m/SBX-M-1/KWD/${REVISED_DAY}`;
    const html = await pages.html(`${path}?${query}`);
    const top = html.slice(0, html.indexOf('id="figures"'));
    const linked = [...top.matchAll(/href="(\/download\/[^"]*)"/g)].map(([, to]) =>
      to!.replaceAll('&amp;', '&'),
    );
    expect(linked).toHaveLength(STATEMENT_FORMATS.length);
    for (const to of linked) {
      const response = await pages.get(to);
      await response.arrayBuffer();
      expect(response.headers.get('content-disposition')).toContain(`_${REVISED_DAY}.r${revision}.`);
    }
    const credits = { 1: '12955820.530', 2: '12959900.610' }[revision]!;
    expect(textOf(html).replaceAll(',', '')).toMatch(
      new RegExp(`Published r${revision} .*Credits .* entries\\) ${credits} `),
    );
  });

  test('a day has no page of a revision that it does not have', async () => {
    expect((await pages.get(`/m/SBX-M-1/KWD/${REVISED_DAY}?revision=3`)).status).toBe(404);
  });

  test.each([`/m/SBX-M-1/KWD/${REVISED_DAY}?revision=1`, '/entry/SBX-M-1/SBX1470407409798?lines=yes'])(
    '%s says with the offset of the zone when files were published',
    async (path) => {
      expect(await words(path)).toContain('6 Mar 2026, 01:30:00 +08:00');
    },
  );

  test('an entry by its number, with its line in the statements', async () => {
    const text = await words('/entry/SBX-M-1/SBX1470407409798?lines=yes');
    expect(text).toContain(
      '1 6 Mar 2026, 01:30:00 3 Mar 2026, 06:05:38 USD SETTLE 2,160,250.00 8,761,955.42',
    );
    expect(text).toContain(`SBX-M-1_USD_${BROKEN_DAY}.r1.csv 6 Mar 2026, 01:30:00 +08:00 21`);
    expect(await words('/entry?number=SBX1470407409798')).toContain('Entry SBX1470407409798');
    expect(await words('/entry?number=nix')).toContain('No entry nix is stored.');
  });

  test('what changed, what is open, and how it stands', async () => {
    expect(await words('/changes?since=2026-03-07')).toMatch(
      /7 Mar 2026, 01:30:00 SBX-M-1 KWD 4 Mar 2026 r1 → r2 1 late entry \(SBX\d+\), 1 break healed/,
    );
    expect(await words('/changes?since=2026-03-08')).toContain('No statement was revised since then.');
    expect(await words('/breaks')).toMatch(/SBX-M-1 USD 3 Mar 2026 -306\.15 open/);
    expect(await words('/breaks?all=yes')).toMatch(/SBX-M-1 KWD 4 Mar 2026 4,080\.080 healed/);
    const status = await words('/status');
    expect(status).toContain('Last successful nightly run 6 Mar 2026, 01:30:00');
    expect(status).toContain('SBX-M-1 7 Mar 2026, 01:30:00 2 Mar 2026 to 2 Mar 2026 1 1 0');
  });

  test('digits as the reader’s language writes them, and as they are stored one click away', async () => {
    const path = '/m/SBX-M-1/2026-03';
    expect(textOf(await pages.html(path, { 'accept-language': 'de-DE,de;q=0.9' }))).toContain(
      '21.649.601,570',
    );
    expect(await pages.html(path)).toContain('href="/m/SBX-M-1/2026-03?digits=exact"');
    expect(await words(`${path}?digits=exact`)).toContain(
      'Opening 0.000 + Credits (125 entries) 48866277.100',
    );
  });
});

describe('downloads', () => {
  test('are the bytes that were published, and on record with the person', async () => {
    const response = await pages.get(`/download/SBX-M-1/USD/${BROKEN_DAY}?revision=1`);
    const key = `merchant=SBX-M-1/date=${BROKEN_DAY}/SBX-M-1_USD_${BROKEN_DAY}.r1.csv`;
    expect(await response.text()).toBe((await objectsOf(stage)).get(key));
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="SBX-M-1_USD_${BROKEN_DAY}.r1.csv"`,
    );
    const zip = await pages.get('/download/SBX-M-1/2026-03.zip');
    expect(new Uint8Array(await zip.arrayBuffer()).subarray(0, 2)).toEqual(new Uint8Array([0x50, 0x4b]));
    expect((await auditEvents()).slice(-2)).toEqual([
      { by_whom: 'local', command: 'statements get', subject: key, note: null },
      { by_whom: 'local', command: 'statements get', subject: '2026-03 SBX-M-1', note: null },
    ]);
    // The month brought the revision, so nothing is new any more.
    expect(await pages.html('/?month=2026-03')).not.toMatch(/aria-label="[^"]*revised/);
  });

  test.each([
    `/download/SBX-M-1/USD/${BROKEN_DAY}?revision=9`,
    `/download/SBX-M-1/USD/${BROKEN_DAY}?revision=../1`,
    `/download/SBX-M-1/USD/${BROKEN_DAY}?format=nix`,
    '/download/SBX-M-1/..%2F..%2Fetc%2Fpasswd',
    '/download/..%2F..%2Fsecret/2026-03.zip',
    '/download/SBX-M-1/2026-04.zip',
    '/download/SBX-M-1/2026-04.pdf',
    '/download/SBX-M-1/2026-03.zip?format=nix',
    '/assets/..%2F..%2Fpackage.json',
  ])('nothing is at %s', async (path) => {
    expect((await pages.get(path)).status).toBe(404);
  });
});

describe('who may do what', () => {
  test('a deed needs the form’s token, an own name and a known step; all of it is on record or none', async () => {
    const path = `/breaks/${await openBreak()}`;
    const before = await auditEvents();
    const step = { step: 'taken', note: '' };
    expect((await pages.post(path, step)).status).toBe(403);
    expect((await pages.post(path, { ...step, form_token: 'another' })).status).toBe(403);
    const fromElsewhere = { 'sec-fetch-site': 'cross-site' };
    expect((await pages.post(path, { ...step, form_token: FORM_TOKEN }, fromElsewhere)).status).toBe(403);
    expect((await pages.post(path, { form_token: FORM_TOKEN, step: 'constructor' })).status).toBe(400);
    const empty = await pages.post(path, { form_token: FORM_TOKEN, step: 'resolved', note: '  ' });
    expect([empty.status, await empty.text()]).toEqual([
      409,
      expect.stringMatching(/<p class="said wrong" role="alert">\s*The note is required\./),
    ]);
    const reopened = await pages.post(path, { form_token: FORM_TOKEN, step: 'reopened' });
    expect(textOf(await reopened.text())).toContain('The break is not resolved, so it cannot be reopened.');
    expect(await auditEvents()).toEqual(before);
  });

  test('a case is taken, resolved and reopened, with the words that the commands leave', async () => {
    const id = await openBreak();
    const offered = async (of = id): Promise<(string | undefined)[]> => {
      const forms = (await pages.html(`/breaks/${of}`)).matchAll(/name="step" value="(\w+)"/g);
      return [...new Set([...forms].map(([, step]) => step))];
    };
    const before = (await auditEvents()).length;
    for (const [step, note, ...steps] of [
      ['taken', '', 'taken', 'resolved', 'commented'],
      ['resolved', 'fee, case 4711', 'resolved', 'commented', 'taken'],
      ['reopened', '', 'reopened', 'commented'],
    ] as const) {
      expect(await offered()).toEqual(steps);
      const response = await pages.post(`/breaks/${id}`, { form_token: FORM_TOKEN, step, note });
      expect([response.status, response.headers.get('location')]).toEqual([
        303,
        `/breaks/${id}?done=${step}`,
      ]);
      expect(await pages.html(response.headers.get('location')!)).toMatch(/<p class="said" role="status">/);
      if (step === 'resolved')
        expect(await pages.html('/?month=2026-03')).toMatch(
          /2026-03-03"\s+aria-label="explained, changed since it was published"/,
        );
    }
    expect(await offered()).toEqual(['taken', 'resolved', 'commented']);
    expect(await offered(await breakOf('KWD'))).toEqual(['commented']);
    expect((await auditEvents()).slice(before)).toEqual([
      { by_whom: 'local', command: 'breaks take', subject: String(id), note: null },
      { by_whom: 'local', command: 'breaks resolve', subject: String(id), note: 'fee, case 4711' },
      { by_whom: 'local', command: 'breaks reopen', subject: String(id), note: null },
    ]);
  });

  test('a viewer looks and downloads, and can do nothing', async () => {
    const viewer = { name: 'Vera', role: 'viewer', merchants: null } as const;
    const own = await showPages(stage, { access: accessOf(() => viewer) });
    const id = await openBreak();
    expect((await own.post(`/breaks/${id}`, { step: 'taken' })).status).toBe(403);
    expect(await own.html(`/breaks/${id}`)).not.toContain('<form method="post"');
    expect(await own.html(`/download/SBX-M-1/USD/${BROKEN_DAY}`)).toContain('SBX1470407409798');
    await own.close();
  });

  test('another’s merchants are as if they did not exist', async () => {
    const other = { name: 'Otto', role: 'operator', merchants: ['SBX-M-2'] } as const;
    const own = await showPages(stage, { access: accessOf(() => other) });
    const id = await openBreak();
    const paths = [
      '/m/SBX-M-1/2026-03',
      `/m/SBX-M-1/USD/${BROKEN_DAY}`,
      '/entry/SBX-M-1/SBX1470407409798',
      `/breaks/${id}`,
      `/download/SBX-M-1/USD/${BROKEN_DAY}`,
      '/download/SBX-M-1/2026-03.zip',
      '/download/SBX-M-1/2026-03.pdf',
    ];
    for (const path of paths) expect((await own.get(path)).status, path).toBe(404);
    expect((await own.post(`/breaks/${id}`, { step: 'taken' })).status).toBe(404);
    for (const path of [
      '/?month=2026-03',
      '/breaks?all=yes',
      '/changes?since=2026-03-01',
      '/status',
      '/entry?number=SBX1470407409798',
    ])
      expect(await own.html(path), path).not.toContain(MERCHANT.merchantNo);
    await own.close();
  });

  test('a page lets nothing foreign in, and nobody keeps it', async () => {
    const { headers } = await pages.get('/');
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none';style-src 'self';img-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'",
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(await pages.html('/')).not.toMatch(/<script|style=|onload/);
  });

  test('the page of a break alone may have a script, and only our own', async () => {
    const policy = async (path: string): Promise<string | null> =>
      (await pages.get(path)).headers.get('content-security-policy');
    const id = await openBreak();
    const own =
      "default-src 'none';style-src 'self';img-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none';script-src 'self'";
    expect(await policy(`/breaks/${id}`)).toBe(own);
    const refused = await pages.post(`/breaks/${id}`, { form_token: FORM_TOKEN, step: 'resolved', note: '' });
    expect([refused.status, refused.headers.get('content-security-policy')]).toEqual([409, own]);
    for (const path of ['/breaks', '/status', `/m/SBX-M-1/USD/${BROKEN_DAY}`, '/nothing', '/login']) {
      expect(await policy(path), path).not.toContain('script-src');
      expect(await (await pages.get(path)).text(), path).not.toContain('<script');
    }
    const [address] = /\/assets\/\w+\/copy\.js/.exec(await pages.html(`/breaks/${id}`))!;
    expect((await pages.get(address)).headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  });

  test('style and icon have the types without which a browser ignores them', async () => {
    const html = await pages.html('/');
    const typeOf = async (name: string): Promise<string | null> => {
      const [address] = new RegExp(`/assets/\\w+/${name}`).exec(html)!;
      return (await pages.get(address)).headers.get('content-type');
    };
    expect([await typeOf('pages.css'), await typeOf('icon.svg')]).toEqual([
      'text/css; charset=utf-8',
      'image/svg+xml',
    ]);
  });
});

test('hostile text stays text, and a number with odd characters keeps its page', async () => {
  const hostile = `"><script>alert('1')</script>/../%2e?#`;
  await database()
    .updateTable('ledger_entry')
    .set({ batch_no: hostile, transaction_type: '<img src=x onerror=alert(1)>' })
    .where('batch_no', '=', 'SBX1470407409798')
    .execute();
  const day = await pages.html(`/m/SBX-M-1/USD/${BROKEN_DAY}`);
  expect(day).not.toMatch(/<script|<img/);
  const href = /href="(\/entry\/SBX-M-1\/[^"]*script[^"]*)"/.exec(day)![1]!.replaceAll('&#39;', "'");
  expect(textOf(await pages.html(href))).toContain(`Entry ${hostile}`);
  for (const text of [hostile, '..', `' OR 1=1 --`, '\u0000', '‮'])
    expect((await pages.get(`/entry?number=${encodeURIComponent(text)}`)).status, text).toBe(200);
  for (const path of [
    '/?month=2026-13',
    '/breaks/x',
    '/m/SBX-M-1/USD/2026-02-30',
    '/m/SBX-M-1/US%2FD/2026-03-03',
    '/%ff',
  ])
    expect([400, 404], path).toContain((await pages.get(path)).status);
  const note = `</textarea><script>alert(2)</script>`;
  const id = await openBreak();
  await pages.post(`/breaks/${id}`, { form_token: FORM_TOKEN, step: 'commented', note });
  expect((await pages.html(`/breaks/${id}`)).match(/<script.*/g)).toEqual([
    expect.stringMatching(/^<script src="\/assets\/\w+\/copy\.js" defer><\/script>$/),
  ]);
});
