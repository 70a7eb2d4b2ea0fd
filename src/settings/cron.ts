/**
 * Reads cron expressions, both for the settings and for the schedule. So every accepted expression can be computed.
 * All times are wall-clock times, as the ms at which a clock in UTC shows the same, so no clock change skips or
 * repeats one.
 */
import { CronExpressionParser } from 'cron-parser';

/** A number or a name of three letters. `ITEM` allows it alone, as a range, or with a step. */
const VALUE = '(?:\\d{1,2}|[a-z]{3})';
const ITEM = `(?:[*?]|${VALUE}(?:-${VALUE})?)(?:/\\d{1,2})?`;
const listOf = (item: string): RegExp => new RegExp(`^(?:${item})(?:,(?:${item}))*$`, 'i');
/**
 * The fields in the order they are written. L is the last day of the month, `5L` its last Friday, `1#2` its second
 * Monday.
 */
const FIELDS = [
  { name: 'minute', shape: listOf(ITEM) },
  { name: 'hour', shape: listOf(ITEM) },
  { name: 'day', shape: listOf(`${ITEM}|L`) },
  { name: 'month', shape: listOf(ITEM) },
  { name: 'weekday', shape: listOf(`${ITEM}|${VALUE}L|${VALUE}#[1-5]`) },
] as const;

/** Any instant will do. Whether an expression has a next time does not depend on where the search starts. */
const PROBED_FROM_MS = Date.UTC(2026, 0, 1);

const parsedAt = (expression: string, wallMs: number) =>
  CronExpressionParser.parse(expression, { tz: 'UTC', currentDate: new Date(wallMs) });

/** The last time of an expression before `wallMs`. `cronProblem` must have accepted the expression. */
export const cronTimeBefore = (expression: string, wallMs: number): number =>
  parsedAt(expression, wallMs).prev().getTime();

/** The first time of an expression after `wallMs`. `cronProblem` must have accepted the expression. */
export const cronTimeAfter = (expression: string, wallMs: number): number =>
  parsedAt(expression, wallMs).next().getTime();

/** Why an expression cannot be used, as the end of a sentence; null if it can. */
export function cronProblem(expression: string): string | null {
  if (expression.trim().startsWith('@')) return 'nicknames like @daily are not taken';
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) return `it has ${fields.length} fields instead of ${FIELDS.length}`;
  for (const [index, { name, shape }] of FIELDS.entries()) {
    if (!shape.test(fields[index]!)) return `its ${name} '${fields[index]!}' cannot be read`;
  }
  try {
    cronTimeBefore(expression, PROBED_FROM_MS);
    cronTimeAfter(expression, PROBED_FROM_MS);
    return null;
  } catch {
    return 'a number is out of range, a name is none, or no such day ever comes';
  }
}
