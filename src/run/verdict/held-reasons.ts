/** Words what is held: so much is gone at once that only a person makes daybook believe it. Pure. */
import { counted } from '../../ledger/text.ts';
import { wallSecond } from '../../ledger/wall-time.ts';
import type { HeldDay } from '../../store/held-absences.ts';
import { EXIT } from './exit-codes.ts';
import type { Reason } from './reason.ts';

/** One for each account. `days` are in order of accounts and days. */
export function reasonsOfHeld(days: readonly HeldDay[], zone: string): Reason[] {
  const byAccount = Map.groupBy(days, ({ merchantNo, currency }) => `${merchantNo} ${currency}`);
  return [...byAccount].map(([account, own]) => {
    const [{ merchantNo, currency, day: from }, to] = [own[0]!, own.at(-1)!.day];
    const entries = own.reduce((sum, one) => sum + one.entries, 0);
    const since = Math.min(...own.map((one) => one.since.getTime()));
    const command = `daybook amendments accept --merchant ${merchantNo} --currency ${currency} --from ${from} --to ${to}`;
    const isAccepted = own.every(({ acceptedAt }) => acceptedAt !== null);
    return {
      exitCode: EXIT.incomplete,
      what:
        `${account} ${from === to ? from : `${from} to ${to}`}: ${counted(entries, 'entry is', 'entries are')} gone at once, ` +
        `since ${wallSecond(since, zone)}; they are held, and the published statements stay as they are`,
      todo: isAccepted
        ? 'accepted: the next run that does not find them marks them as vanished'
        : `ask the platform; if it removed them for good, \`${command} --note TEXT\`. If they come back, the hold ends by itself`,
      merchantNo,
      ...(!isAccepted && { awaitsPerson: true }),
    };
  });
}
