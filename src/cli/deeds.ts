/** What every command shares that a person has to answer for: `--by`, and the row it leaves. */
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Kysely, Transaction } from 'kysely';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { recordDeed, type Deed } from '../store/audit.ts';
import type { DB } from '../store/engine/schema.ts';

const BY_CHARACTERS_MAX = 100;

export const withBy = (command: Command): Command =>
  command.option('--by <name>', 'who does it, for the record (default: the system’s user)');

/** The deed of a command made by `withBy`. Throws `UsageError` for a name that is none. */
export function deedOf(command: Command, subject: string | number, note?: string): Deed {
  const path: string[] = [];
  for (let at = command; at.parent !== null; at = at.parent) path.unshift(at.name());
  return { by: whoIn(command), command: path.join(' '), subject: String(subject), note };
}

function whoIn(command: Command): string {
  const given = command.opts<{ readonly by?: string }>().by?.trim();
  if (given === undefined) return systemUser();
  if (given === '' || given.length > BY_CHARACTERS_MAX || /\p{C}/u.test(given)) {
    throw new UsageError(`--by takes a name of 1 to ${BY_CHARACTERS_MAX} characters in one line.`);
  }
  return given;
}

/** A container may run as a number that no user has. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Records the deed and does `work` in one transaction. `work` says what it could not do by throwing. */
export const doneBy = <Result>(
  db: Kysely<DB>,
  deed: Deed,
  now: Date,
  work: (trx: Transaction<DB>, deedId: number) => Promise<Result>,
): Promise<Result> => db.transaction().execute(async (trx) => work(trx, await recordDeed(trx, deed, now)));
