/** Reads what lies in the store as docs/reference/files.md describes it, with nothing of the program's own reading. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface PublishedStatement {
  readonly day: string;
  readonly currency: string;
  readonly file: string;
  readonly revision: number;
  readonly sha256: string;
  readonly bytes: number;
  readonly rows: number;
  readonly opening: string;
  readonly openingDerived: boolean;
  /** Why the opening is not the closing of the statement before. */
  readonly openingReason?: string;
  readonly creditTotal: string;
  readonly creditCount: number;
  readonly debitTotal: string;
  readonly debitCount: number;
  readonly closing: string;
  /** Other balances that it says it may close on as well. */
  readonly otherClosings?: readonly string[];
  readonly verdict: string;
  readonly breaks: number;
  /** How many of the breaks lie before a row of a later day. */
  readonly breaksAfter?: number;
  readonly previousDay: string | null;
  readonly previousSha256: string | null;
  readonly superseded: readonly {
    readonly revision: number;
    readonly file: string;
    readonly sha256: string;
  }[];
  /** The text of the file; null if it is missing. */
  readonly text: string | null;
}

export interface Published {
  /** Current statements by `currency day`, in order. */
  readonly statements: ReadonlyMap<string, PublishedStatement>;
  /** Manifests that cannot be read, and files that differ from their manifest. */
  readonly damages: readonly string[];
}

export const statementId = (currency: string, day: string): string => `${currency} ${day}`;

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
/** Null if there is no such file. */
const textOf = (path: string): string | null => (existsSync(path) ? readFileSync(path, 'utf8') : null);

export async function readPublished(folder: string, merchantNo: string): Promise<Published> {
  const root = join(folder, `merchant=${merchantNo}`);
  const statements = new Map<string, PublishedStatement>();
  const damages: string[] = [];
  const days = await readdir(root).catch(() => []);
  for (const name of days.sort()) {
    const day = name.replace('date=', '');
    const manifestText = textOf(join(root, name, 'manifest.json'));
    if (manifestText === null) continue;
    const manifest = JSON.parse(manifestText) as {
      day: string;
      statements: Omit<PublishedStatement, 'text' | 'day'>[];
    };
    if (manifest.day !== day) damages.push(`a manifest is of another day: ${day} says ${manifest.day}`);
    for (const statement of manifest.statements) {
      const text = textOf(join(root, name, statement.file));
      statements.set(statementId(statement.currency, day), { ...statement, day, text });
      for (const { file, sha256: sum } of [statement, ...statement.superseded]) {
        const content = file === statement.file ? text : textOf(join(root, name, file));
        if (content === null) damages.push(`a manifest names a file that is not there: ${file}`);
        else if (sha256(content) !== sum) damages.push(`a file is not the one its manifest names: ${file}`);
      }
    }
  }
  return { statements, damages };
}

/** Rows of a statement without the header. No cell of a simulation needs quotes. */
export const rowsOf = (text: string): string[][] =>
  text
    .split('\r\n')
    .slice(1, -1)
    .map((line) => line.split(','));

/** An amount in hundredths. */
export const hundredths = (amount: string): bigint => {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,2}))?$/.exec(amount) ?? [];
  if (whole === '') throw new Error(`'${amount}' is no amount of a simulation`);
  return BigInt(`${sign}${whole}${fraction.padEnd(2, '0')}`);
};
