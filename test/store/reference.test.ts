import { sql } from 'kysely';
import { expect, it } from 'vitest';
import {
  listReferenceItems,
  listReferenceLists,
  referenceCodes,
  saveReferenceList,
  type ReferenceItem,
} from '../../src/plugins/reference/stored.ts';
import { onBothDatabases } from './support.ts';

const BANKS = { kind: 'bank', country: 'CN' };
const NATURES = { kind: 'business_nature', country: '' };
const at = (day: number): Date => new Date(Date.UTC(2026, 2, day));
const bank = (code: string, name = `Bank ${code}`): ReferenceItem => ({
  code,
  name,
  methodType: null,
  isPrompt: false,
});

onBothDatabases((store) => {
  const save = (day: number, items: readonly ReferenceItem[], key = BANKS) =>
    saveReferenceList(store().db, key, { items, readAt: at(day) });
  const held = async (withRemoved = true) =>
    (await listReferenceItems(store().db, { ...BANKS, withRemoved })).map((row) => [
      row.code,
      row.name,
      row.firstSeenAt,
      row.lastSeenAt,
      row.hasExited,
    ]);

  it('a code is stored with when it was first and last seen, even when it is gone or back again', async () => {
    expect(await save(1, [bank('CN2'), bank('CN1')])).toEqual({
      added: ['CN1', 'CN2'],
      renamed: [],
      returned: [],
      gone: [],
    });
    expect(await save(8, [bank('CN1', 'Bank One'), bank('CN3')])).toEqual({
      added: ['CN3'],
      renamed: ['CN1'],
      returned: [],
      gone: ['CN2'],
    });
    expect(await held()).toEqual([
      ['CN1', 'Bank One', at(1), at(8), false],
      ['CN2', 'Bank CN2', at(1), at(1), true],
      ['CN3', 'Bank CN3', at(8), at(8), false],
    ]);
    expect((await held(false)).map(([code]) => code)).toEqual(['CN1', 'CN3']);

    const back = await save(15, [bank('CN1', 'Bank One'), bank('CN2'), bank('CN3')]);
    expect(back).toEqual({ added: [], renamed: [], returned: ['CN2'], gone: [] });
    expect((await held())[1]).toEqual(['CN2', 'Bank CN2', at(1), at(15), false]);
  });

  it('an unchanged list writes no item, but updates when its codes were last seen', async () => {
    await save(1, [bank('CN1'), bank('CN2')]);
    const rows = () =>
      sql<{ row: string }>`SELECT ctid::text || xmin::text AS row FROM reference_item`
        .execute(store().db)
        .then((result) => result.rows);
    const before = await rows();
    await save(8, [bank('CN1'), bank('CN2')]);
    expect(await rows()).toEqual(before);
    expect((await held()).map(([, , , lastSeenAt]) => lastSeenAt)).toEqual([at(8), at(8)]);
  });

  it('a reading requested before the stored one changes nothing', async () => {
    await save(8, [bank('CN1')]);
    expect(await save(1, [])).toBeNull();
    expect((await held()).map(([code, , , , hasExited]) => [code, hasExited])).toEqual([['CN1', false]]);
  });

  it('two first readings at the same time give the result of one of them', async () => {
    const changes = await Promise.all([save(1, [bank('CN1')]), save(1, [bank('CN1')])]);
    expect(changes.map((one) => one?.added)).toContainEqual(['CN1']);
    expect(changes.flatMap((one) => one?.added)).toHaveLength(1);
    expect(await held()).toHaveLength(1);
  });

  it('countries are kept apart', async () => {
    await save(1, [bank('CN1')]);
    await save(1, [bank('US1')], { kind: 'bank', country: 'US' });
    await save(8, [], { kind: 'bank', country: 'US' });
    expect((await held()).map(([code, , , , hasExited]) => [code, hasExited])).toEqual([['CN1', false]]);
    expect(await listReferenceLists(store().db)).toEqual([
      { kind: 'bank', country: 'CN', readAt: at(1), itemCount: 1, setAside: [] },
      { kind: 'bank', country: 'US', readAt: at(8), itemCount: 0, setAside: [] },
    ]);
  });

  it('there are no codes to check against before a list is read or if it is empty, and a prompt is no code', async () => {
    expect(await referenceCodes(store().db, BANKS)).toBeNull();
    await save(1, []);
    expect(await referenceCodes(store().db, BANKS)).toBeNull();
    const other = { ...bank('OTHER', 'Please enter'), isPrompt: true };
    await save(1, [bank('1', 'Toys'), other], NATURES);
    expect(await referenceCodes(store().db, NATURES)).toEqual(['1']);
  });

  it('names and codes may contain the special characters of SQL and array literals', async () => {
    const odd = `B,"}{\\'; DROP TABLE reference_item;--`;
    await save(1, [bank('CN{"', odd)]);
    expect(await held()).toEqual([['CN{"', odd, at(1), at(1), false]]);
  });

  it('the code for an empty list can never be stored as a bank', async () => {
    await expect(save(1, [bank('ALL0000001', 'ALL')])).rejects.toThrow(/check/);
    expect(await held()).toEqual([]);
  });
});
