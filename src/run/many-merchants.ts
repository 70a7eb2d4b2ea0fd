/** Asks the database about many merchants at once, a few hundred with each statement. */

/** Merchants that one statement asks about: few statements for thousands, and a reply that stays small. */
const MERCHANTS_A_STATEMENT = 500;

/** The merchants in order, cut into parts that one statement may ask about. */
export function* inParts(merchants: readonly string[]): Generator<string[]> {
  for (let from = 0; from < merchants.length; from += MERCHANTS_A_STATEMENT)
    yield merchants.slice(from, from + MERCHANTS_A_STATEMENT);
}

/** Asks about some merchants after the others, and joins the answers in their order. */
export async function askInParts<Answer>(
  merchants: readonly string[],
  ask: (some: readonly string[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const some of inParts(merchants)) answers.push(...(await ask(some)));
  return answers;
}
