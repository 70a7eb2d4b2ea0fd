import { describe, expect, test } from 'vitest';
import { PlatformRejected, PlatformReplyInvalid } from '../../src/platform/errors.ts';
import { createReferenceReader, type ListQuery } from '../../src/platform/reference-data.ts';
import { answer, rejection, stranger, transportTo } from './stranger.ts';

const BANKS: ListQuery = { metaType: 'bank', countryCode: 'CN' };
const METHODS: ListQuery = { metaType: 'payout_method', countryCode: 'CN' };

async function list(reply: unknown, query: ListQuery = BANKS) {
  const { url, received } = await stranger(answer(typeof reply === 'string' ? reply : JSON.stringify(reply)));
  const { transport } = transportTo(url, { retriesMax: 0 });
  return { items: await createReferenceReader(transport).list(query), received };
}
const items = (...metaDataList: unknown[]) => ({ metaDataList });

describe('the request', () => {
  test.each<[ListQuery, object]>([
    [BANKS, { metaType: 'bank', countryCode: 'CN' }],
    [METHODS, { metaType: 'payout_method', countryCode: 'CN' }],
    [{ metaType: 'occupation' }, { metaType: 'occupation' }],
    [{ metaType: 'business_nature' }, { metaType: 'business_nature' }],
    [{ metaType: 'purpose' }, { metaType: 'purpose' }],
  ])('for %j', async (query, body) => {
    const { received } = await list(items(), query);
    expect(received.map(({ path }) => path)).toEqual(['/api/sp2502']);
    expect(JSON.parse(received[0]!.body)).toEqual(body);
  });

  test.each<[ListQuery]>([
    [{ metaType: 'bank' }],
    [{ metaType: 'payout_method', countryCode: 'cn' }],
    [{ metaType: 'purpose', countryCode: 'CN' }],
  ])('%j is never sent', async (query) => {
    const { url, received } = await stranger(answer('{}'));
    const reader = createReferenceReader(transportTo(url).transport);
    expect(await rejection(reader.list(query))).toBeInstanceOf(RangeError);
    expect(received).toHaveLength(0);
  });
});

describe('the reply', () => {
  test('gives code and name, and a type to payout methods only', async () => {
    const bank = { code: 'CN001', name: 'Bank of One', type: 'BANK', more: 1 };
    expect((await list(items(bank))).items).toEqual([{ code: 'CN001', name: 'Bank of One', type: null }]);
    const wallet = { code: 'PAY', name: 'Pay', type: 'WALLET' };
    expect((await list(items(wallet), METHODS)).items).toEqual([wallet]);
  });

  test('the single item ALL means that nothing was found', async () => {
    const nothing = items({ code: 'ALL0000001', name: 'ALL' });
    expect((await list(nothing)).items).toEqual([]);
    expect((await list(nothing, METHODS)).items).toEqual([]);
    expect((await list(items())).items).toEqual([]);
  });

  test('a code that comes twice alike counts once', async () => {
    const bank = { code: 'CN1', name: 'One' };
    expect((await list(items(bank, bank))).items).toHaveLength(1);
  });

  test.each<[string, unknown, ListQuery, string]>([
    ['no list', { metaDataList: { code: 'CN1', name: 'x' } }, BANKS, 'metaDataList is no list'],
    ['an item without code', items({ name: 'x' }), BANKS, 'item 1 has no code'],
    ['a code of blanks', items({ code: ' ', name: 'x' }), BANKS, 'item 1 has no code'],
    ['an item without name', items({ code: 'CN1', name: '' }), BANKS, 'item 1 has no name'],
    ['null for an item', items(null), BANKS, 'item 1 is no object'],
    [
      'a bank of another country',
      items({ code: 'CN1', name: 'x' }, { code: 'US1', name: 'y' }),
      BANKS,
      'item 2 is a bank whose code does not begin with CN',
    ],
    [
      'a method without type',
      items({ code: 'A', name: 'x' }),
      METHODS,
      'item 1 is a payout method of neither type WALLET nor BANK',
    ],
    [
      'two meanings of a code',
      items({ code: 'CN1', name: 'x' }, { code: 'CN1', name: 'y' }),
      BANKS,
      'item 2 gives code CN1 a second meaning',
    ],
    ['HTML', '<html>', BANKS, 'answered by HTML'],
    ['a list by itself', [], BANKS, 'answered by something else than an object'],
  ])('%s is refused whole', async (_, reply, query, said) => {
    const error = await rejection(list(reply, query));
    expect(error).toBeInstanceOf(PlatformReplyInvalid);
    expect(error.message).toContain(`sp2502 for the agent: ${said}`);
  });

  test('an error document is a refusal', async () => {
    expect(await rejection(list({ code: 'E1', message: 'no' }))).toBeInstanceOf(PlatformRejected);
  });
});
