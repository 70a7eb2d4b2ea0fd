/** Words that a night could not begin, because of what was thrown before its run was on record. Pure. */
import type { AlertContent } from '../../alerts/alert.ts';
import type { Condition } from '../../store/alerts/conditions.ts';
import { SecretKeyWrong } from '../../store/secrets/key-check.ts';
import { SecretUnreadable, UnknownSecretKey } from '../../store/secrets/secrets.ts';
import { EXIT, exitCodeOf } from '../verdict/exit-codes.ts';
import { gradeOf, KEYS, NIGHT } from './at-end.ts';

const KEY_PROBLEMS = [SecretKeyWrong, SecretUnreadable, UnknownSecretKey];

/** What is told, and the trouble that it belongs to. */
export function notStarted(error: unknown): {
  readonly condition: Condition;
  readonly content: AlertContent;
} {
  const exitCode = exitCodeOf(error);
  const isKey = KEY_PROBLEMS.some((kind) => error instanceof kind);
  const sentence =
    exitCode === EXIT.fault
      ? 'A fault in daybook itself; its log says more.'
      : error instanceof Error
        ? error.message
        : String(error);
  return {
    condition: { name: isKey ? KEYS : NIGHT, grade: gradeOf(exitCode), count: 0 },
    content: {
      kind: isKey ? 'key-problem' : 'failed-night',
      title: isKey
        ? 'DAYBOOK_SECRET_KEYS does not open what is stored'
        : `daybook could not begin (exit ${exitCode})`,
      sentences: [sentence],
      todo: isKey
        ? 'put the key that the sentence names back into DAYBOOK_SECRET_KEYS; until then no run begins'
        : '`daybook doctor` names what is wrong and how to mend it; nothing was changed',
      merchants: [],
      merchantCount: 0,
      days: [],
      since: null,
      runId: null,
    },
  };
}
