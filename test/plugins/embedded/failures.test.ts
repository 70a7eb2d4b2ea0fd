/** @module-tag long */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/run/verdict/exit-codes.ts';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import { embeddedDatabase } from '../../../src/plugins/embedded/database.ts';
import {
  EMBEDDED_POSTGRES_MAJOR,
  openingTrouble,
  statementTrouble,
} from '../../../src/plugins/embedded/folder.ts';
import { daybook } from '../../cli/daybook.ts';

/** Creating an embedded database takes seconds. */
const SLOW_MS = 180_000;
let folder: string;
let sound: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-damaged-'));
  sound = join(folder, 'sound');
  const database = await openDatabase({ databaseUrl: null, dataDir: sound });
  await database.close();
}, SLOW_MS);
afterAll(() => rm(folder, { recursive: true }));

const failureOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.unreachable('it went well'),
    (error: unknown) => error as Error,
  );

describe('an unusable folder ends with 2, and the message says what is wrong and what to do', () => {
  it.each<[string, (dataDir: string) => Promise<unknown>, RegExp]>([
    [
      'a file in place of the data directory',
      async (dataDir) => {
        await rm(dataDir, { recursive: true });
        await writeFile(dataDir, 'no folder');
      },
      /EEXIST/,
    ],
    [
      'a file in place of the database',
      async (dataDir) => {
        await rm(join(dataDir, 'db'), { recursive: true });
        await writeFile(join(dataDir, 'db'), 'no folder');
      },
      /a file lies where a folder should/,
    ],
    ['a damaged pg_control', (dataDir) => writeFile(control(dataDir), Buffer.alloc(8_192, 7)), /damaged/],
    ['an empty pg_control', (dataDir) => truncate(control(dataDir)), /damaged/],
    ['no write-ahead log', (dataDir) => rm(join(dataDir, 'db/pg_wal'), { recursive: true }), /damaged/],
    [
      'a lock file that is no lock',
      (dataDir) => writeFile(join(dataDir, 'db.lock'), 'x'.repeat(200)),
      /not a database/,
    ],
  ])(
    '%s',
    async (what, spoil, said) => {
      const dataDir = join(folder, what.replaceAll(' ', '-'));
      await cp(sound, dataDir, { recursive: true });
      await spoil(dataDir);
      const failure = await failureOf(openDatabase({ databaseUrl: null, dataDir }));
      expect(failure).toMatchObject({ name: 'DatabaseUnusable', exitCode: 2 });
      expect(failure.message).toMatch(said);
      expect(failure.message).toContain(join(dataDir, 'db'));
      expect(failure.message).toMatch(/DAYBOOK_DATA_DIR must be a folder.*restore it/);
      expect(failure.message).not.toMatch(/object Object|Aborted|ASSERTIONS/);
    },
    SLOW_MS,
  );

  it.each<[string, (dataDir: string) => Promise<unknown>, RegExp]>([
    [
      'without its version file',
      (dataDir) => rm(join(dataDir, 'db/PG_VERSION')),
      /it is no database, as it has no PG_VERSION, but is not empty \(base, global, .* and \d+ more\)\. Restore/,
    ],
    [
      'with files of another program',
      async (dataDir) => {
        await rm(join(dataDir, 'db'), { recursive: true });
        await mkdir(join(dataDir, 'db'), { mode: 0o700 });
        await writeFile(join(dataDir, 'db/holidays.jpg'), 'a beach');
      },
      /no PG_VERSION, but is not empty \(holidays\.jpg\).*remove what lies there/,
    ],
    [
      'of another PostgreSQL',
      (dataDir) => writeFile(join(dataDir, 'db/PG_VERSION'), '15\n'),
      /it was made by PostgreSQL 15, and this version of daybook has PostgreSQL \d+\. Use the version/,
    ],
    [
      'with an empty version file',
      (dataDir) => truncate(join(dataDir, 'db/PG_VERSION')),
      /it was made by PostgreSQL \(nothing\)/,
    ],
  ])(
    'a folder %s does not count as a new one, and nothing in it is changed',
    async (what, spoil, said) => {
      const dataDir = join(folder, what.replaceAll(' ', '-'));
      await cp(sound, dataDir, { recursive: true });
      await spoil(dataDir);
      const lying = async () => (await readdir(join(dataDir, 'db'), { recursive: true })).sort();
      const before = await lying();
      const failure = await failureOf(openDatabase({ databaseUrl: null, dataDir }));
      expect(failure).toMatchObject({ name: 'DatabaseUnusable', exitCode: 2 });
      expect(failure.message).toMatch(said);
      expect(failure.message).toContain(join(dataDir, 'db'));
      expect(await lying()).toEqual(before);
    },
    SLOW_MS,
  );

  it('a sound folder has the required version', async () => {
    expect(await readFile(join(sound, 'db/PG_VERSION'), 'utf8')).toBe(`${EMBEDDED_POSTGRES_MAJOR}\n`);
  });

  it(
    'on the command line too, without the engine’s own messages',
    async () => {
      const dataDir = join(folder, 'told');
      await mkdir(dataDir, { mode: 0o700 });
      await writeFile(join(dataDir, 'db'), 'no folder');
      const { code, stdout, stderr } = await daybook(['breaks'], { DAYBOOK_DATA_DIR: dataDir });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(
        /^daybook: the embedded database in .*told\/db cannot be used: a file lies where/,
      );
    },
    SLOW_MS,
  );
});

const control = (dataDir: string): string => join(dataDir, 'db/global/pg_control');

describe('errors that the engine throws', () => {
  /** As PGlite throws them: not an Error, but with a number. */
  const fileError = (errno: number) => ({ name: 'ErrnoError', errno });
  const aborted = Object.assign(new Error('Aborted(). Build with -sASSERTIONS for more info.'), {
    name: 'RuntimeError',
  });

  it.each<[string, unknown, number, RegExp]>([
    ['no space left', fileError(51), 4, /is full: no space is left.*Free some space/],
    [
      'a full disk under the lock',
      Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR' }),
      4,
      /is full/,
    ],
    ['a read-only disk', fileError(69), 2, /it is read-only/],
    ['a number without a name', fileError(99), 2, /file error 99/],
    ['its end', aborted, 2, /its files are damaged/],
    ['no error at all', { status: 1 }, 2, /its files are damaged/],
  ])('%s', async (_, error, exitCode, said) => {
    for (const trouble of [
      await openingTrouble(join(sound, 'db'), sound, error),
      ...(error instanceof Error && error.name === 'Error'
        ? []
        : [await statementTrouble(join(sound, 'db'), sound, error)]),
    ]) {
      expect(exitCodeOf(trouble)).toBe(exitCode);
      expect((trouble as Error).message).toMatch(said);
    }
  });

  it('does not change errors of PostgreSQL or daybook', async () => {
    const ours = new RangeError('9007199254740993 is no safe number');
    expect(await statementTrouble(join(sound, 'db'), sound, ours)).toBe(ours);
    const refused = Object.assign(new Error('duplicate key'), { code: '23505' });
    expect(await statementTrouble(join(sound, 'db'), sound, refused)).toBe(refused);
  });

  it(
    'ends a transaction that cannot begin and would wait for ever',
    async () => {
      const pglite = await PGlite.create();
      const { db } = embeddedDatabase(pglite, undefined, (error) =>
        Promise.resolve(statementTrouble(join(sound, 'db'), sound, error)),
      );
      await sql`SELECT 1`.execute(db);
      await pglite.close();
      const failure = await failureOf(db.transaction().execute((trx) => sql`SELECT 1`.execute(trx)));
      expect(failure).toMatchObject({ name: 'DatabaseUnusable', exitCode: 2 });
    },
    SLOW_MS,
  );
});
