/** How often one person may ask: more is refused in words, and everybody else is served. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createAccess } from '../../../src/plugins/pages/access/open.ts';
import { createPace } from '../../../src/plugins/pages/turns.ts';
import { openStage, type Stage } from '../../support/stage.ts';
import { random, SECRET_KEYS, withPasswords } from './access/support.ts';
import { handTime, namedAccess, showPages, textOf, type ShownPages } from './support.ts';

let stage: Stage;
let pages: ShownPages;
beforeAll(async () => (stage = await openStage()));
afterAll(() => stage.close());
afterEach(() => pages.close());

const answer = async (path: string, headers?: Record<string, string>) => {
  const response = await pages.get(path, headers);
  return { status: response.status, retry: response.headers.get('retry-after'), text: await response.text() };
};

test('600 requests, then ten a second: of each person by themselves', async () => {
  const timing = handTime();
  pages = await showPages(stage, { access: namedAccess(() => ({ role: 'viewer' })), timing });
  const ada = { 'x-person': 'ada' };
  for (let nth = 0; nth < 600; nth += 1) expect((await answer('/nothing', ada)).status).toBe(404);
  const refused = await answer('/', ada);
  expect([refused.status, refused.retry, textOf(refused.text)]).toEqual([
    429,
    '1',
    expect.stringContaining('Too many requests You asked for very many pages'),
  ]);
  expect((await answer('/', { 'x-person': 'vera' })).status).toBe(200);
  timing.pass(1_000);
  for (let nth = 0; nth < 10; nth += 1) expect((await answer('/nothing', ada)).status).toBe(404);
  expect((await answer('/nothing', ada)).status).toBe(429);
});

test('who is not logged in is counted by address at the page to log in, and keeps no one out who is', async () => {
  const timing = handTime();
  const deps = { db: stage.app.database.db, random, now: () => new Date() };
  const access = createAccess({
    ...deps,
    settings: withPasswords(),
    secretKeys: SECRET_KEYS,
    isSecure: false,
  });
  pages = await showPages(stage, { access, timing });
  const ada = `Basic ${Buffer.from('ada:correct horse battery').toString('base64')}`;
  for (let nth = 0; nth < 600; nth += 1) expect((await answer('/login')).status).toBe(200);
  expect((await answer('/login')).status).toBe(429);
  expect((await answer('/', { authorization: ada })).status).toBe(200);
});

test('of a flood of names the latest are remembered, so memory stays small', () => {
  const { clock, pass } = handTime();
  const pace = createPace({ clock });
  for (let nth = 0; nth < 600; nth += 1) pace('ada');
  expect(pace('ada')).toBe(1);
  for (let nth = 0; nth < 10_000; nth += 1) pace(`address ${nth}`);
  expect(pace('ada')).toBe(0);
  for (let nth = 0; nth < 599; nth += 1) pace('ada');
  expect(pace('ada')).toBe(1);
  pass(60_000);
  expect(pace('ada')).toBe(0);
});
