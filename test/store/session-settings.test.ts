/** Settings that a server, a database or a role may have of its own, and that would change what daybook's statements mean. */
import { sql } from 'kysely';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { createSandbox } from '../../src/plugins/sandbox/server.ts';
import { daybook, type Env } from '../cli/daybook.ts';
import { emptyDatabase } from '../support/database.ts';
import { pgbouncer, startBouncer } from '../support/pgbouncer.ts';
import { FROM, MERCHANT, NIGHT, scenario, TO, ZONE } from '../support/stage.ts';

/** A new database with these settings of its own. */
async function databaseWith(settings: readonly string[]): Promise<string> {
  const { db, url, close } = await emptyDatabase();
  const name = sql.id(new URL(url).pathname.slice(1));
  for (const setting of settings) await sql`ALTER DATABASE ${name} SET ${sql.raw(setting)}`.execute(db);
  await close();
  return url;
}

let platformUrl: string;
beforeAll(async () => {
  const sandbox = createSandbox(scenario());
  platformUrl = (await sandbox.listen({ port: 0 })).url;
  return () => sandbox.close();
});

async function envWith(settings: readonly string[]): Promise<{ readonly env: Env; readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-settings-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const env = {
    ...{
      PLATFORM_BASE_URL: platformUrl,
      PLATFORM_TIME_ZONE: ZONE,
      PLATFORM_MERCHANT_NO: MERCHANT.merchantNo,
    },
    ...{ PLATFORM_TOKEN: MERCHANT.token, DATABASE_URL: await databaseWith(settings) },
    ...{ DAYBOOK_DATA_DIR: folder, DAYBOOK_NOW: NIGHT, DAYBOOK_LOG_LEVEL: 'silent' },
  };
  return { env, folder };
}

/** Settings that no command may notice. */
const HARMLESS: readonly (readonly [string, readonly string[]])[] = [
  ['how texts are read', ['standard_conforming_strings = off', 'backslash_quote = off', 'array_nulls = off']],
  [
    'how values are written',
    [
      "DateStyle = 'SQL, DMY'",
      "IntervalStyle = 'iso_8601'",
      "TimeZone = 'America/St_Johns'",
      'extra_float_digits = -15',
      "bytea_output = 'escape'",
      "lc_numeric = 'C'",
    ],
  ],
  [
    'how transactions and sessions end',
    [
      "default_transaction_isolation = 'serializable'",
      'default_transaction_deferrable = on',
      "transaction_timeout = '40ms'",
      "idle_in_transaction_session_timeout = '5ms'",
      "restrict_nonsystem_relation_kind = 'view'",
      'transform_null_equals = on',
    ],
  ],
];

test.each(HARMLESS)('the database’s own settings of %s change nothing', async (_, settings) => {
  const { env, folder } = await envWith(settings);
  await writeFile(
    join(folder, 'book.csv'),
    'no,day,amount\n"1\\n",2026-03-02 10:00:00,1.50\n2,2026-03-03,-1.50\n',
  );
  const map = `merchant: ${MERCHANT.merchantNo}\nformat: csv\ncurrency: USD\ncolumns: {number: no, booked: day, amount: amount}\n`;
  await writeFile(join(folder, 'map.yaml'), map);
  const commands = [
    ['migrate'],
    ['run', '--from', FROM, '--to', TO],
    ['books', 'import', join(folder, 'book.csv'), '--map', join(folder, 'map.yaml'), '--by', 'Ada'],
    ...[['books', 'match'], ['status'], ['doctor'], ['audit']],
  ];
  for (const args of commands)
    expect([args[0], await daybook(args, env)]).toMatchObject([args[0], { code: 0 }]);
});

test.each(['search_path = nowhere', "search_path = ''", 'search_path = pg_temp', 'search_path = pg_catalog'])(
  '%s leaves no place for the tables: refused, with what to do',
  async (setting) => {
    const { env } = await envWith([setting]);
    for (const args of [['migrate'], ['status']]) {
      const { code, stderr } = await daybook(args, env);
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(/search_path begins with no schema .* RESET search_path/),
      ]);
    }
    expect(await daybook(['doctor'], env)).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('search_path'),
    });
  },
);

test('a search_path that names a schema of its own is where the tables are', async () => {
  const { env } = await envWith(['search_path = own, public']);
  const client = new pg.Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  await client.query('CREATE SCHEMA own');
  expect(await daybook(['migrate'], env)).toMatchObject({ code: 0 });
  const { rows } = await client.query(
    "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename = 'ledger_entry'",
  );
  await client.end();
  expect(rows).toEqual([{ schemaname: 'own' }]);
});

test.skipIf(pgbouncer === null)(
  'behind PgBouncer texts are read as ever, and a setting that no session can keep there is refused',
  async () => {
    const bouncer = await startBouncer(inject('postgresUrl'), { mode: 'transaction', poolSize: 2 });
    onTestFinished(() => bouncer.stop());
    const { env } = await envWith(['standard_conforming_strings = off', "DateStyle = 'SQL, DMY'"]);
    const through = { ...env, DATABASE_URL: bouncer.url(env.DATABASE_URL!) };
    for (const args of [['migrate'], ['run', '--from', FROM, '--to', TO], ['status']])
      expect([args[0], await daybook(args, through)]).toMatchObject([args[0], { code: 0 }]);
    const url = await databaseWith(['array_nulls = off']);
    expect(await daybook(['migrate'], { ...env, DATABASE_URL: bouncer.url(url) })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/array_nulls = off, .* RESET array_nulls/),
    });
  },
);
