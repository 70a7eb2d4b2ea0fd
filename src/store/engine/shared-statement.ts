/**
 * One statement for what many callers ask at about the same time. A question that comes while others are under way waits, and
 * shares the next statement of its kind. Without company it is sent at once, so no one waits for company.
 */
import { sql, type RawBuilder } from 'kysely';
import { arrayLiteral, type Db, rowsOf } from './database.ts';
import { isConnectionError, isContention, StoreUnreachable } from './errors.ts';

/**
 * As long as each turn of the event loop brings another question, so many turns are waited for further ones: they come while
 * there is other work.
 */
const TURNS_MAX = 16;
/** Most questions of one statement. */
const QUESTIONS_MAX = 64;
/** What a kind gains each time that others are sent before it, counted as questions: one that is rare has its turn as well. */
const PASSED_OVER_COUNTS = 4;

interface Question<Ask, Answer> {
  readonly ask: Ask;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface Kind<Ask, Answer> {
  /** Answers all questions by one statement, in their order. */
  readonly answer: (db: Db, asks: readonly Ask[]) => Promise<readonly Answer[]>;
}

/** Called for a merchant whose question waits for its answer, and again when it has it. */
type OnWaiting = (merchantNo: string, isWaiting: boolean) => void;

interface Waiting {
  readonly questions: Question<never, never>[];
  /** How often others were sent before these. */
  passedOver: number;
}

/** The questions to one database that wait. */
class Sharing {
  onWaiting: OnWaiting = () => undefined;
  readonly #db: Db;
  readonly #waiting = new Map<Kind<never, unknown>, Waiting>();
  #isUnderWay = false;
  #isCalled = false;
  #arrived = 0;

  constructor(db: Db) {
    this.#db = db;
  }

  async ask<Ask extends OfMerchant, Answer>(kind: Kind<Ask, Answer>, ask: Ask): Promise<Answer> {
    const answer = this.#enqueue(kind, ask);
    this.onWaiting(ask.merchantNo, true);
    try {
      return await answer;
    } finally {
      this.onWaiting(ask.merchantNo, false);
    }
  }

  #enqueue<Ask, Answer>(kind: Kind<Ask, Answer>, ask: Ask): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const question = { ask, resolve, reject } as never;
      const waiting = this.#waiting.get(kind);
      if (waiting === undefined) this.#waiting.set(kind, { questions: [question], passedOver: 0 });
      else waiting.questions.push(question);
      this.#arrived += 1;
      if (this.#isCalled) return;
      this.#isCalled = true;
      // Lets others of this moment ask as well.
      this.#wait(0, this.#arrived);
    });
  }

  #wait(turns: number, arrived: number): void {
    setImmediate(() => {
      if (this.#arrived > arrived && turns < TURNS_MAX) {
        this.#wait(turns + 1, this.#arrived);
      } else {
        this.#isCalled = false;
        this.#send();
      }
    });
  }

  /** Sends what most are waiting for, unless a shared statement is under way: with several, each would carry fewer questions. */
  #send(): void {
    if (this.#isUnderWay || this.#waiting.size === 0) return;
    const rankOf = ({ questions, passedOver }: Waiting) => questions.length + PASSED_OVER_COUNTS * passedOver;
    const [kind, { questions }] = [...this.#waiting].reduce((most, one) =>
      rankOf(one[1]) > rankOf(most[1]) ? one : most,
    );
    this.#waiting.delete(kind);
    for (const other of this.#waiting.values()) other.passedOver += 1;
    const later = questions.splice(QUESTIONS_MAX);
    if (later.length > 0) this.#waiting.set(kind, { questions: later, passedOver: 0 });
    this.#isUnderWay = true;
    void this.#answer(kind, questions).finally(() => {
      this.#isUnderWay = false;
      this.#send();
    });
  }

  async #answer(kind: Kind<never, unknown>, questions: readonly Question<never, never>[]): Promise<void> {
    try {
      const answers = await kind.answer(
        this.#db,
        questions.map(({ ask }) => ask),
      );
      questions.forEach(({ resolve }, at) => resolve(answers[at] as never));
    } catch (error) {
      // One of them alone may be the cause. Where the connection is, each caller knows what to do.
      const isOfAll = isConnectionError(error) || isContention(error) || error instanceof StoreUnreachable;
      const isOfOne = questions.length > 1 && !isOfAll;
      for (const question of questions)
        if (isOfOne) await this.#answer(kind, [question]);
        else question.reject(error);
    }
  }
}

const sharings = new WeakMap<Db, Sharing>();

function sharingOf(db: Db): Sharing {
  let sharing = sharings.get(db);
  if (sharing === undefined) sharings.set(db, (sharing = new Sharing(db)));
  return sharing;
}

/** Has this called whenever a merchant has to wait for an answer, and when it has it. */
export function onWaitingForAnswer(db: Db, onWaiting: OnWaiting): void {
  sharingOf(db).onWaiting = onWaiting;
}

interface OfMerchant {
  readonly merchantNo: string;
}

/**
 * Returns a function that asks one question; many of the same database share a statement. In a transaction
 * each is sent by itself. A question whose company failed is asked again alone. Rejects with what `answer` throws.
 */
export function shared<Ask extends OfMerchant, Answer>(
  answer: Kind<Ask, Answer>['answer'],
): (db: Db, ask: Ask) => Promise<Answer> {
  const kind: Kind<Ask, Answer> = { answer };
  return async (db, ask) => {
    if (db.isTransaction) return (await answer(db, [ask]))[0]!;
    return sharingOf(db).ask(kind, ask);
  };
}

type Value = string | number | null;

/**
 * Of each question, a value of PostgreSQL's type of that name. A list has the type `text`, as `arrayLiteral` writes it; the query
 * casts it.
 */
export type Columns<Ask> = Readonly<
  Record<string, readonly [type: 'text' | 'bigint' | 'int' | 'date' | 'timestamptz', of: (ask: Ask) => Value]>
>;

/** The merchant of each question, as a column, and in a query about a row `asked`. */
export const MERCHANT: Columns<OfMerchant> = { merchant_no: ['text', ({ merchantNo }) => merchantNo] };
export const ASKED_MERCHANT = sql`asked.merchant_no`;

/** The rows of all questions in one list, each with the place `nth` of its own, from 1. */
export const withPlaces = <Row extends object>(
  rowsOfEach: readonly (readonly Row[])[],
): (Row & { readonly nth: number })[] =>
  rowsOfEach.flatMap((rows, at) => rows.map((row) => ({ ...row, nth: at + 1 })));

/** The other way round: the rows of each question, in the order in which they came. */
export function byPlace<Row extends { readonly nth: number }>(
  { length }: readonly unknown[],
  rows: readonly Row[],
): Row[][] {
  const rowsOfEach = Array.from({ length }, (): Row[] => []);
  for (const row of rows) rowsOfEach[row.nth - 1]!.push(row);
  return rowsOfEach;
}

/**
 * Returns what makes rows `asked (…, nth)` with these columns, one a question; `nth` counts from 1. Its text is one object for
 * good, so that the statements it is in are compiled once.
 */
export function askedRows<Ask>(columns: Columns<Ask>): (asks: readonly Ask[]) => RawBuilder<unknown> {
  const names = Object.keys(columns);
  const values = Object.values(columns);
  const types = values.map(([type]) => `::${type}[]`);
  const end = `${types.at(-1)!}) WITH ORDINALITY AS asked (${[...names, 'nth'].join(', ')})`;
  const texts = ['unnest(', ...types.slice(0, -1).map((type) => `${type}, `), end];
  const template = Object.assign(texts, { raw: texts });
  return (asks) => sql(template, ...values.map(([, of]) => arrayLiteral(asks.map(of))));
}

/** Rows `asked (merchant_no, nth)`. */
export const merchantRows = askedRows(MERCHANT);

/**
 * Returns a function that reads the rows of one question. `columns` are those next to the merchant. `query` is about a row `asked`; it runs once for each of those that
 * came together. The rows come in its order, as the server joins question by question.
 */
export function sharedRead<Ask extends OfMerchant, Row>(
  columns: Columns<Ask>,
  query: RawBuilder<unknown>,
): (db: Db, ask: Ask) => Promise<Row[]> {
  const asked = askedRows<Ask>({ ...MERCHANT, ...columns });
  return shared(async (db, asks) =>
    byPlace(
      asks,
      await rowsOf(db)<Row & { readonly nth: number }>`
        SELECT asked.nth::int AS nth, own.* FROM ${asked(asks)} CROSS JOIN LATERAL (${query}) AS own`,
    ),
  );
}
