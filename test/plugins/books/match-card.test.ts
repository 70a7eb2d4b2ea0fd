/** The match card in its short form; and it notices what it is there to notice. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshDatabase, type ServerDatabase } from '../../support/database.ts';
import { cardText } from './card/card.ts';
import { judged, playCase, prepareCase, type Played } from './card/play.ts';

const SEED = Number(process.env['DAYBOOK_TEST_SEED'] ?? 2404);

let database: ServerDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

describe('made-up books with known faults', () => {
  for (const { tags, books, from } of [
    { tags: {}, books: 8, from: 0 },
    { tags: { tags: ['long'] }, books: 60, from: 1_000 },
  ])
    it(
      `of ${books}, what has one answer is matched and nothing else, and each day is explained`,
      tags,
      async () => {
        const played: Played[] = [];
        for (let nth = from; nth < from + books; nth += 1)
          played.push(await playCase(database.db, SEED, nth));
        expect(played.flatMap(({ problems }) => problems)).toEqual([]);
        const truths = played.flatMap((one) => one.truths);
        const withAnswer = truths.filter(({ hasAnswer }) => hasAnswer);
        expect(withAnswer.length).toBeGreaterThan(20 * books);
        expect(withAnswer.every(({ ending }) => ending === 'matched')).toBe(true);
        expect(truths.filter(({ ending }) => ending === 'wrong')).toEqual([]);
        expect(cardText(played)).toMatch(/all +\d+/);
      },
    );

  it('a match of two entries that have nothing to do with each other, a missing match and a wrong figure are noticed', async () => {
    const { db } = database;
    const one = await prepareCase(db, SEED, 500);
    const { merchantNo } = one;
    await sql`
      WITH pair AS (SELECT match_id FROM book_match_entry WHERE merchant_no = ${merchantNo} AND match_id IS NOT NULL
        GROUP BY 1 HAVING count(*) = 2 ORDER BY 1 LIMIT 2)
      UPDATE book_match_entry AS entry SET match_id = (SELECT min(match_id) FROM pair) + (SELECT max(match_id) FROM pair) - entry.match_id
      WHERE match_id IN (SELECT match_id FROM pair) AND batch_no IS NOT NULL`.execute(db);
    await sql`UPDATE book_day SET ledger_open = ledger_open + 0.01, book_open = book_open + 0.01 WHERE (merchant_no, day) IN (
      SELECT merchant_no, min(day) FROM book_day WHERE merchant_no = ${merchantNo} GROUP BY 1)`.execute(db);
    const { truths, problems } = await judged(db, one);
    expect(truths.filter(({ ending }) => ending === 'wrong')).toHaveLength(2);
    expect(problems.filter((problem) => problem.includes('has another explanation'))).toHaveLength(2);
    expect(problems.filter((problem) => problem.includes('has one explanation'))).toHaveLength(2);
    expect(problems).toContainEqual(expect.stringContaining('onlyThere is'));
    await sql`UPDATE book_day SET difference = difference + 0.01 WHERE merchant_no = ${merchantNo}`.execute(
      db,
    );
    await expect(judged(db, one)).rejects.toThrow('do not explain the difference');
  });
});
