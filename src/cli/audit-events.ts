/** For commands that a person answers for: the flag `--by`, and the record of what they did. */
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { UsageError } from '../run/verdict/exit-codes.ts';
import type { AuditEvent } from '../store/audit.ts';

export { doneBy } from '../store/audit.ts';

const BY_CHARACTERS_MAX = 100;

export const withBy = (command: Command): Command =>
  command.option('--by <name>', 'who does it, for the record (default: the system’s user)');

/** The audit event of a command that was made with `withBy`. Throws `UsageError` for a `--by` that is not a name. */
export function auditEventOf(command: Command, subject: string | number, note?: string): AuditEvent {
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

/** In a container, the process may run under a number that belongs to no user. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
