/**
 * Published files that are missing or altered: the next run finds them, and writes them again or reports them. Also
 * what comparing costs.
 */
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { runFigures } from '../../src/run/report.ts';
import type { RunRequest } from '../../src/run/active-run.ts';
import { filesOfDatabase, filesOfStore, verifyProblems } from '../statements/store-oracle.ts';
import {
  DAYS,
  footprints,
  FROM,
  MERCHANT,
  objectsOf,
  openStage,
  publishedIn,
  scenario,
  type Stage,
} from '../support/stage.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const { merchantNo } = MERCHANT;
const folderKey = (day: string) => `merchant=${merchantNo}/date=${day}`;
const csv = (revision = 1) => `${folderKey(FROM)}/${merchantNo}_USD_${FROM}.r${revision}.csv`;
const SUMMARY = `${folderKey(FROM)}/summary.r1.csv`;
const MANIFEST = `${folderKey(FROM)}/manifest.json`;

let stage: Stage;
let root: string;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
  root = join(stage.app.settings.dataDir, 'statements');
  expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [] });
});
afterEach(() => stage.close());

const amend = (busiType: string): void => {
  const entry = stage.sandbox.entriesOf(merchantNo).find(({ currency }) => currency === 'USD')!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType });
};
/** Replaces the file by another text of the same length. */
const altered = async (key: string): Promise<void> => {
  const text = await readFile(join(root, key), 'utf8');
  await writeFile(
    join(root, key),
    text.replace(/\d/, (digit) => String((Number(digit) + 1) % 10)),
  );
};
const storeIsDatabase = async (): Promise<void> => {
  expect(await filesOfStore(stage.app.objects)).toEqual(await filesOfDatabase(stage.app.database.db));
  expect(await verifyProblems(stage.app.objects)).toEqual([]);
};

describe('published files', () => {
  const harms: readonly [string, string, 'missing' | 'altered', () => Promise<void>][] = [
    ['a statement is gone', csv(), 'missing', () => rm(join(root, csv()))],
    ['a statement of the same length says something else', csv(), 'altered', () => altered(csv())],
    ['the manifest says something else', MANIFEST, 'altered', () => altered(MANIFEST)],
    ['a statement is longer', csv(), 'altered', () => appendFile(join(root, csv()), 'x')],
    ['the summary is gone', SUMMARY, 'missing', () => rm(join(root, SUMMARY))],
    ['the summary says something else', SUMMARY, 'altered', () => altered(SUMMARY)],
    ['the manifest is gone', MANIFEST, 'missing', () => rm(join(root, MANIFEST))],
    ['the manifest is no manifest', MANIFEST, 'altered', () => writeFile(join(root, MANIFEST), '{}')],
  ];
  for (const { options, cases } of shortAndLong(harms, 3))
    test.each(cases)(
      '%s: the same bytes are written again under the same revision',
      options,
      async (_, key, damage, harm) => {
        const before = await objectsOf(stage);
        await harm();
        const report = await stage.run();
        expect(report).toMatchObject({
          exitCode: 0,
          publish: { published: [], repaired: [{ merchantNo, day: FROM, key, damage }], unrepaired: [] },
          notes: [expect.stringContaining(`repaired: 1 published file was missing or altered in the store`)],
        });
        expect(report.notes[0]).toContain(`${key} (${damage})`);
        expect(runFigures(report)).toMatchObject({ repaired: 1, unrepaired: 0 });
        expect(await objectsOf(stage)).toEqual(before);
        expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [], publish: { repaired: [] } });
      },
    );

  test('if all are gone, all are written again, by a rerun and by `publish` alone', async () => {
    const before = await objectsOf(stage);
    for (const command of ['run', 'publish'] as const) {
      await rm(root, { recursive: true });
      const report = await stage.run({ command });
      expect(report).toMatchObject({ exitCode: 0, publish: { unrepaired: [] } });
      expect(report.publish?.repaired).toHaveLength(before.size);
      expect(await objectsOf(stage)).toEqual(before);
    }
  });

  test('a superseded revision that cannot be made again is reported with 3, and its altered bytes stay as evidence', async () => {
    amend('CHANGED');
    expect(publishedIn(await stage.run())).toEqual([`USD ${FROM} r2`]);
    await rm(join(root, csv(1)));
    const lost = await stage.run();
    expect(lost).toMatchObject({ exitCode: 3, publish: { repaired: [], unrepaired: [{ key: csv(1) }] } });
    expect(lost.notes).toEqual([
      `${csv(1)} is missing in the store: its entries have changed since, so that it cannot be made again: ` +
        'restore it from a copy of the store, such as an earlier version of the object or a backup.',
    ]);
    await writeFile(join(root, csv(1)), 'other bytes');
    expect(await stage.run()).toMatchObject({
      exitCode: 3,
      publish: { unrepaired: [{ damage: 'altered' }] },
    });
    expect(await readFile(join(root, csv(1)), 'utf8')).toBe('other bytes');
    // A current statement and the superseded summary can be made again.
    await rm(join(root, csv(2)));
    await rm(join(root, SUMMARY));
    expect((await stage.run()).publish?.repaired.map(({ key }) => key)).toEqual([csv(2), SUMMARY]);
  });

  test('a manifest newer than the database stays, and is reported with 3', async () => {
    const text = (await readFile(join(root, MANIFEST), 'utf8')).replace(/"revision": \d+/, '"revision": 9');
    await writeFile(join(root, MANIFEST), text);
    const report = await stage.run();
    expect(report).toMatchObject({ exitCode: 3, publish: { repaired: [] } });
    expect(report.notes[0]).toMatch(
      /^1 day’s manifest in the store has a higher revision than this database knows: .* \(revision 9, here 1\)/,
    );
    expect(report.reasons[0]!.todo).toContain('`daybook statements adopt`');
    expect(report.reasons[0]!.todo).toContain('STATEMENTS_URL');
    expect(await readFile(join(root, MANIFEST), 'utf8')).toBe(text);
    // The next manifest gets a higher number than that one.
    amend('CHANGED');
    await stage.run();
    expect(JSON.parse(await readFile(join(root, MANIFEST), 'utf8'))).toMatchObject({ revision: 10 });
    await storeIsDatabase();
  });

  test(
    'manifests that the database has no rows of are accepted unchanged, or repaired',
    { tags: ['long'] },
    async () => {
      const { db } = stage.app.database;
      // No manifest follows it.
      const last = `${folderKey(DAYS.at(-1)!)}/manifest.json`;
      await sql`DELETE FROM artifact WHERE kind <> 'summary'`.execute(db);
      await sql`UPDATE artifact SET stored_sha256 = NULL, stored_bytes = NULL, etag = NULL`.execute(db);
      const before = await objectsOf(stage);
      expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [] });
      expect(await objectsOf(stage)).toEqual(before);
      await storeIsDatabase();
      await sql`DELETE FROM artifact WHERE kind = 'manifest'`.execute(db);
      await rm(join(root, last));
      expect(await stage.run()).toMatchObject({ exitCode: 0, publish: { repaired: [{ key: last }] } });
      await storeIsDatabase();
      await sql`DELETE FROM artifact WHERE kind = 'manifest'`.execute(db);
      const text = await readFile(join(root, last), 'utf8');
      const wrong = text.replace(/(?<="statements": [^]*?"sha256": ")[0-9a-f]{4}/, '0000');
      expect(wrong).not.toBe(text);
      await writeFile(join(root, last), wrong);
      expect(await stage.run()).toMatchObject({
        exitCode: 0,
        publish: { repaired: [{ key: last, damage: 'altered' }] },
      });
      await storeIsDatabase();
    },
  );
});

describe('publish --repair', () => {
  const repair = (request: Partial<RunRequest> = {}) =>
    stage.run({ command: 'publish', range: null, repairs: true, ...request });

  test('compares days that no nightly run compares any more', async () => {
    stage.setNow('2026-06-01T02:00:00Z');
    const before = await objectsOf(stage);
    await rm(join(root, csv()));
    await altered(SUMMARY);
    expect(await stage.run({ command: 'publish', range: null })).toMatchObject({ publish: { repaired: [] } });
    expect(await repair({ range: { from: DAYS[1]!, to: DAYS[1]! } })).toMatchObject({
      publish: { repaired: [] },
    });
    expect(await repair()).toMatchObject({
      exitCode: 0,
      publish: { published: [], repaired: [{ key: csv() }, { key: SUMMARY }], unrepaired: [] },
    });
    expect(await objectsOf(stage)).toEqual(before);
  });

  test('reads files that the store says are unchanged, and finds bytes that changed without a new etag', async () => {
    const before = await objectsOf(stage);
    const mark = (await stage.app.objects.head(csv()))!;
    await altered(csv());
    /** Like a failing disk: the bytes change, and the store does not notice. */
    const decayed: ObjectStore = {
      ...stage.app.objects,
      survey: async function* (prefix, range) {
        for await (const one of stage.app.objects.survey(prefix, range))
          yield one.key === csv() ? { ...one, ...mark } : one;
      },
    };
    expect(await stage.run({}, { objects: decayed })).toMatchObject({ publish: { repaired: [] } });
    expect(
      await stage.run({ command: 'publish', range: null, repairs: true }, { objects: decayed }),
    ).toMatchObject({ exitCode: 0, publish: { repaired: [{ key: csv(), damage: 'altered' }] } });
    expect(await objectsOf(stage)).toEqual(before);
  });
});

describe('the cost of comparing', () => {
  /** A run's turn at the store: its mark is read, written and read again. */
  const TURN = { head: 1, get: 2, put: 1 };

  /** A store that counts calls by name. */
  const counted = (store: ObjectStore): { objects: ObjectStore; calls: Record<string, number> } => {
    const calls: Record<string, number> = {};
    const objects = new Proxy(store, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          calls[String(property)] = (calls[String(property)] ?? 0) + 1;
          return (value as (...given: unknown[]) => unknown)(...args);
        };
      },
    });
    return { objects, calls };
  };

  test('a rerun without changes costs one listing per merchant and a turn at the store’s mark, and writes no row', async () => {
    const { objects, calls } = counted(stage.app.objects);
    const before = await footprints(stage, ['statement', 'artifact']);
    await stage.run({}, { objects });
    expect(calls).toEqual({ check: 1, ...TURN, survey: 1 });
    expect(await footprints(stage, ['statement', 'artifact'])).toEqual(before);
  });

  test('files that got other etags, as by a copy of the store, are read once, and not by the next run', async () => {
    const files = await objectsOf(stage);
    await stage.app.database.db.updateTable('artifact').set({ etag: 'of another place' }).execute();
    const first = counted(stage.app.objects);
    await stage.run({}, { objects: first.objects });
    expect(first.calls).toEqual({ check: 1, ...TURN, survey: 1, digest: files.size });
    const second = counted(stage.app.objects);
    await stage.run({}, { objects: second.objects });
    expect(second.calls).toEqual({ check: 1, ...TURN, survey: 1 });
  });

  test('a changed day costs its own uploads and a reading of both revisions for the reason, but none of its manifest', async () => {
    amend('CHANGED');
    const { objects, calls } = counted(stage.app.objects);
    expect(publishedIn(await stage.run({}, { objects }))).toEqual([`USD ${FROM} r2`]);
    // Read: the store's mark twice, and both revisions. Written: the mark, a statement, a summary and a manifest, and the next day's
    // manifest, because it names the statement before.
    expect(calls).toEqual({ check: 1, ...TURN, get: 4, discardUnfinished: 2, put: 5, survey: 1 });
  });
});
