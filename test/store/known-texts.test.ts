import { PostgresQueryCompiler, sql, type QueryCompiler, type RawBuilder } from 'kysely';
import { describe, expect, test } from 'vitest';
import { withKnownTexts } from '../../src/store/engine/retrying-dialect.ts';

/** Counts how often Kysely's own compiler is asked. */
function compilers() {
  let asked = 0;
  const plain = new PostgresQueryCompiler();
  const counting: QueryCompiler = {
    compileQuery: (node, queryId) => {
      asked += 1;
      return plain.compileQuery(node, queryId);
    },
  };
  const known = withKnownTexts(counting);
  const outcomeOf = (compiler: QueryCompiler, statement: RawBuilder<unknown>) => {
    const { sql: text, parameters } = compiler.compileQuery(statement.toOperationNode(), { queryId: 'q' });
    return { text, parameters };
  };
  return {
    asked: () => asked,
    expectSame: (statement: RawBuilder<unknown>) =>
      expect(outcomeOf(known, statement)).toEqual(outcomeOf(plain, statement)),
  };
}

describe('a statement is compiled to the same text and values as by Kysely itself', () => {
  const filter = (merchantNo: string | null) =>
    merchantNo === null ? sql`true` : sql`merchant_no = ${merchantNo}`;
  const days = (merchantNo: string | null, day: string) =>
    sql`SELECT ${day}::date WHERE ${filter(merchantNo)} AND day > ${day}`;

  test('and its text is put together only once, whatever its values are', () => {
    const { asked, expectSame } = compilers();
    for (const day of ['2026-03-01', '2026-03-02', '2026-03-03']) expectSame(days('M1', day));
    expect(asked()).toBe(1);
  });

  test('also where another template or a value stands in the same place', () => {
    const { expectSame } = compilers();
    const inPlace = (part: unknown) => sql`SELECT ${part}, ${1}`;
    for (let round = 0; round < 2; round += 1) {
      for (const part of [sql`a`, sql`b`, sql`a + ${2}`, sql`${2} + a`, 'a', null, [1, 2]])
        expectSame(inPlace(part));
      expectSame(days(null, '2026-03-01'));
      expectSame(days('M1', '2026-03-01'));
    }
  });

  test('also with literals, which are part of the text', () => {
    const { asked, expectSame } = compilers();
    const statement = (literal: unknown, value: string) => sql`SELECT ${sql.lit(literal)} WHERE x = ${value}`;
    for (const value of ['a', 'b'])
      for (const literal of ['one', '1', 1, '', true, null]) expectSame(statement(literal, value));
    expect(asked()).toBe(6);
  });

  test('also where parts are names, literals, lists or texts made on the spot', () => {
    const { expectSame } = compilers();
    const statement = (name: string, numbers: readonly number[]) =>
      sql`SELECT ${sql.ref(name)}, ${sql.lit(name)}, ${sql.raw(name)} FROM ${sql.table(name)}
        WHERE x IN (${sql.join(numbers)}) AND y = ${name}`;
    for (const name of ['one', 'two'])
      for (const numbers of [[1], [1, 2]]) expectSame(statement(name, numbers));
  });
});
