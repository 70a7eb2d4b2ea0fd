/** Words that a night could not begin, because of what was thrown before its run was on record. Pure. */
import type { AlertContent } from '../../alerts/alert.ts';
import type { Condition } from '../../store/alerts/conditions.ts';
import { SecretKeyWrong } from '../../store/secrets/key-check.ts';
import { SecretUnreadable, UnknownSecretKey } from '../../store/secrets/secrets.ts';
import { EXIT, exitCodeOf } from '../verdict/exit-codes.ts';
import { gradeOf, KEYS, NIGHT } from './at-end.ts';

const KEY_PROBLEMS = [SecretKeyWrong, SecretUnreadable, UnknownSecretKey];

/** What could not begin: a night, or the taking in of results. */
export type NotBegun = 'night' | 'serve';

/** Trouble with `serve`. It is over once one listens. */
export const SERVE = 'serve';

/** What is reported, and the trouble that it belongs to. */
export function notStarted(
  error: unknown,
  what: NotBegun = 'night',
): { readonly condition: Condition; readonly content: AlertContent } {
  const exitCode = exitCodeOf(error);
  const isKey = KEY_PROBLEMS.some((kind) => error instanceof kind);
  const sentence =
    exitCode === EXIT.fault
      ? 'Internal error; the log says more.'
      : error instanceof Error
        ? error.message
        : String(error);
  return {
    condition: {
      name: isKey ? KEYS : what === 'serve' ? SERVE : NIGHT,
      grade: gradeOf(exitCode),
      count: 0,
    },
    content: {
      ...(isKey ? KEY_PROBLEM : ABOUT[what](exitCode)),
      sentences: [sentence],
      merchants: [],
      merchantCount: 0,
      days: [],
      since: null,
      runId: null,
    },
  };
}

type Headline = Pick<AlertContent, 'kind' | 'title' | 'todo'>;

const KEY_PROBLEM: Headline = {
  kind: 'key-problem',
  title: 'DAYBOOK_SECRET_KEYS does not open what is stored',
  todo: 'put the key that the sentence names back into DAYBOOK_SECRET_KEYS; until then no run begins',
};

const ABOUT: Readonly<Record<NotBegun, (exitCode: number) => Headline>> = {
  night: (exitCode) => ({
    kind: 'failed-night',
    title: `daybook could not begin (exit ${exitCode})`,
    todo: '`daybook doctor` names the problem and its fix; nothing was changed',
  }),
  serve: (exitCode) => ({
    kind: 'not-serving',
    title: `daybook serve could not begin (exit ${exitCode})`,
    todo: 'fix what the sentence names and start `daybook serve` again; the platform repeats unanswered pushes',
  }),
};
