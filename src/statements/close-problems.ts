/** Says what a close's file contradicts in itself. */
import { counted } from '../ledger/text.ts';
import { closedAccount } from './closed-account.ts';
import type { CloseFile, ClosedStatement } from './close-file.ts';
import { closeKey, fileOf } from './keys.ts';
import { groupedBy } from './grouped-by.ts';

/** What is wrong in the file under this path (its parts separated by `/`); nothing if it is as daybook makes it. */
export const problemsInClose = (path: string, close: CloseFile): string[] => [
  ...problemsWithPlace(path, close),
  ...problemsWithDays(close),
  ...problemsWithTotals(close),
];

const CLOSE_FILE = /_\d{4}-\d\d\.close\d+\.json$/;
const IN_STORE = /(^|\/)merchant=[^/]*\/close=[^/]*\/[^/]*$/;

function problemsWithPlace(path: string, { merchantNo, month, number, previous }: CloseFile): string[] {
  const key = closeKey(merchantNo, month, number);
  const wasMoved = IN_STORE.test(path)
    ? !`/${path}`.endsWith(`/${key}`)
    : CLOSE_FILE.test(path) && fileOf(path) !== fileOf(key);
  return [
    ...(wasMoved ? [`it is close ${number} of ${merchantNo}, ${month}: it was moved here, or changed`] : []),
    ...((previous?.number ?? 0) === number - 1
      ? []
      : [
          `close ${number} has to name close ${number - 1} as the one before, and names ${previous === null ? 'none' : `close ${previous.number}`}`,
        ]),
  ];
}

function problemsWithDays({ month, statements, openDays, despite }: CloseFile): string[] {
  const seen = new Set<string>();
  const problems: string[] = [];
  for (const { currency, day, verdict, breaks, explained } of statements) {
    const name = `${currency} ${day}`;
    if ((verdict === 'broken') !== breaks > 0)
      problems.push(`${name}: it is ${verdict}, with ${counted(breaks, 'break')}`);
    if (explained.length > breaks)
      problems.push(`${name}: more breaks are explained than there are, which are ${breaks}`);
    if (!day.startsWith(`${month}-`)) problems.push(`${name}: the day is not in ${month}`);
    if (seen.has(name)) problems.push(`${name}: it is frozen twice`);
    seen.add(name);
  }
  for (const { currency, day } of openDays)
    if (!day.startsWith(`${month}-`)) problems.push(`${currency} ${day}: the open day is not in ${month}`);
  if ((despite === null) !== (openDays.length === 0))
    problems.push(
      despite === null
        ? 'it names open days, and no reason why it was closed despite them'
        : 'it says why it was closed despite open days, and names none',
    );
  return problems;
}

/** Each account's sums again, from the statements. */
function problemsWithTotals({ accounts, statements }: CloseFile): string[] {
  const ofAccount = groupedBy(statements, ({ currency }) => currency);
  const named = new Set(accounts.map(({ currency }) => currency));
  return [
    ...accounts.flatMap((stated) => {
      const { currency } = stated;
      const own: readonly ClosedStatement[] = [...(ofAccount.get(currency) ?? [])].sort((a, b) =>
        a.day < b.day ? -1 : 1,
      );
      const found = closedAccount(currency, own);
      return (Object.keys(found) as (keyof typeof found)[])
        .filter((name) => stated[name] !== found[name])
        .map(
          (name) =>
            `${currency}: ${name} is stated as ${String(stated[name])}, its statements make ${String(found[name])}`,
        );
    }),
    ...[...ofAccount.keys()]
      .filter((currency) => !named.has(currency))
      .map((currency) => `${currency}: it has statements, and no account`),
    ...(named.size === accounts.length ? [] : ['an account is named twice']),
  ];
}
