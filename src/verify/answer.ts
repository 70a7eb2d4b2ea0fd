/** What `daybook verify` and the file for auditors answer: a report, the same in words, and an exit code. */
import { readFile } from 'node:fs/promises';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { PublicKey } from '../ledger/signature.ts';
import { countedInText as counted, firstNamed } from '../ledger/text.ts';
import { isSecretKey, readPublicKey } from '../signing.ts';
import { groupedBy, type VerifiedChain } from './chain.ts';
import type { VerifiedClose } from './closes.ts';
import { READABLE_FORMATS } from './formats.ts';
import { verifyPaths, type VerifyReport } from './verify.ts';

/** How it was asked; each public key is its text, or a file with it. */
export interface Asked {
  readonly paths: readonly string[];
  readonly publicKeys: readonly string[];
  readonly isComplete: boolean;
}

export interface Answer {
  readonly document: VerifyReport;
  readonly text: string;
  readonly exitCode: typeof EXIT.done | typeof EXIT.needsPerson;
}

/** Throws an `ExpectedError` for a path that does not exist, and for a key that is none. */
export async function answerTo({ paths, publicKeys, isComplete }: Asked): Promise<Answer> {
  const keys = await Promise.all(publicKeys.map(publicKeyIn));
  const document = await verifyPaths(paths, READABLE_FORMATS, keys, isComplete);
  return {
    document,
    text: textOf(document, isComplete),
    exitCode: document.problems.length === 0 ? EXIT.done : EXIT.needsPerson,
  };
}

/** A public key, or a file that holds one. What may be a secret key is never shown. */
async function publicKeyIn(given: string): Promise<PublicKey> {
  const own = readPublicKey(given);
  if (own !== null) return own;
  const text = await readFile(given, 'utf8').catch(() => null);
  const read = text === null ? null : readPublicKey(text);
  if (read !== null) return read;
  if (text !== null) throw new WrongKey(`--public-key ${given} holds no public key of minisign; ${PAIR}`);
  if (isSecretKey(given))
    throw new WrongKey(
      '--public-key was given the secret key; give the public one (RW...), or a file with it.',
    );
  const shown = MAYBE_KEY.test(given) ? '' : ` ${given}`;
  throw new WrongKey(`--public-key${shown} is no public key of minisign (RW...), and no file; ${PAIR}`);
}

const PAIR = '`daybook statements keygen` makes a pair.';

/** What was given as a public key is none. */
class WrongKey extends ExpectedError {
  override readonly name = 'WrongKey';
  readonly exitCode = EXIT.usage;
}

/** As long as a key, in the letters of one, or with a key's comment. */
const MAYBE_KEY = /^untrusted comment:|[A-Za-z0-9+/]{40}/;

function textOf(report: VerifyReport, mustBeComplete: boolean): string {
  const { manifests, files, problems, signed, chains, closes, notChecked } = report;
  const noted = chains.flatMap(({ outdated, outside }) => [
    ...(signed === null && !mustBeComplete ? outdated : []),
    ...(signed !== null && !mustBeComplete ? outside : []),
  ]);
  const broken = files.filter(({ verdict, current }) => current && verdict === 'broken');
  const lines = [
    `${counted(files.length, 'file')} of ${counted(manifests, 'manifest')} checked: ` +
      (problems.length === 0 ? 'all unchanged since publication' : counted(problems.length, 'problem')),
    ...problems.map(({ path, problem }) => `  ${path}: ${problem}`),
    ...noted.map(({ path, problem }) => `  note: ${path}: ${problem}`),
    ...[...groupedBy(notChecked, ({ problem }) => problem)].map(notCheckedText),
    signed !== null && `${signed} of ${counted(manifests, 'manifest')} signed with the key`,
    ...(signed !== null || mustBeComplete ? chains.map(chainText) : []),
    signed !== null &&
      noted.length > 0 &&
      'missing files were not given, or were removed: with all manifests given, `--complete` makes this a problem',
    ...closes.flatMap(closeTexts),
    ...broken.map(
      ({ path, breaks, explained }) =>
        `  note: ${path} was published with a broken balance chain` +
        (explained === 0 ? '' : `; ${explained} of ${counted(breaks!, 'break')} explained in its manifest`),
    ),
  ];
  return lines.filter((line) => line !== false).join('\n');
}

/** A month in a format has hundreds of files that cannot be checked. */
const NOT_CHECKED_SHOWN_MAX = 5;

const notCheckedText = ([problem, files]: readonly [string, VerifyReport['notChecked']]): string => {
  const paths = files.map(({ path }) => path);
  return `  note: ${firstNamed(paths, NOT_CHECKED_SHOWN_MAX)}: ${problem}`;
};

/** A closed month, whether days were open, and what changed since: those days are as published, and not as closed. */
const closeTexts = (close: VerifiedClose): string[] => [
  `close ${close.number} of ${close.month}, ${close.merchantNo}: ` +
    `${close.compared} of ${counted(close.statements, 'statement')} compared` +
    (close.byHash === 0 ? '' : `, ${close.byHash} of them by hash alone, as their files are not here`) +
    (close.openDays === 0
      ? ''
      : `; it was closed despite ${counted(close.openDays, 'open day')}: ${close.despite ?? ''}`),
  ...close.adjusted.map(({ currency, day, frozenRevision, revision }) => {
    const was = frozenRevision === null ? 'was not published' : `was revision ${frozenRevision}`;
    return `  note: ${close.path}: ${currency} ${day} ${was} when the month was closed, and is revision ${revision} here`;
  }),
];

/** The last manifest is named, so that it can be noted and compared the next time. */
const chainText = ({ merchantNo, manifests, from, through, last }: VerifiedChain): string =>
  `chain of ${merchantNo}: ${counted(manifests, 'manifest')}, ${from} to ${through}; the last is revision ` +
  `${last.revision} of ${last.day}, SHA-256 ${last.sha256}`;
