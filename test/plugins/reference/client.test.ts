import { describe, expect, test } from 'vitest';
import { PlatformRejected, PlatformReplyInvalid } from '../../../src/platform/errors.ts';
import { createReferenceReader, type ListQuery } from '../../../src/plugins/reference/client.ts';
import { answer, rejection, outOfScope, transportTo } from '../../platform/stranger.ts';

const BANKS: ListQuery = { metaType: 'bank', countryCode: 'CN' };
const METHODS: ListQuery = { metaType: 'payout_method', countryCode: 'CN' };

async function list(reply: unknown, query: ListQuery = BANKS) {
  const { url, received } = await outOfScope(
    answer(typeof reply === 'string' ? reply : JSON.stringify(reply)),
  );
  const { transport } = transportTo(url, { retriesMax: 0 });
  return { ...(await createReferenceReader(transport).list(query)), received };
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
    const { url, received } = await outOfScope(answer('{}'));
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

  test('the single item ALL means an empty list', async () => {
    const nothing = items({ code: 'ALL0000001', name: 'ALL' });
    expect((await list(nothing)).items).toEqual([]);
    expect((await list(nothing, METHODS)).items).toEqual([]);
    expect((await list(items())).items).toEqual([]);
  });

  test.each<[string, string]>([
    ['null', '{"metaDataList":null}'],
    ['null within data', '{"code":"S00000","data":{"metaDataList":null}}'],
    ['empty text', '{"metaDataList":""}'],
    ['JSON text of null', '{"metaDataList":"null"}'],
    ['JSON text of an empty list', '{"metaDataList":"[]"}'],
    ['an empty object', '{"metaDataList":{}}'],
    ['the item ALL by its code', '{"metaDataList":{"ALL0000001":"ALL"}}'],
  ])('an empty list may come as %s', async (_, reply) => {
    expect(await list(reply)).toMatchObject({ items: [], setAside: [], notices: [] });
  });

  test.each<[string, string, ListQuery]>([
    ['a reply without the list', '{"code":"S00000","data":null}', BANKS],
    ['an error in place of the list', '{"metaDataList":{"message":"system busy"}}', { metaType: 'purpose' }],
    ['a text that is no list', '{"metaDataList":"system busy"}', { metaType: 'purpose' }],
    ['broken JSON text', '{"metaDataList":"[{\\"code\\":"}', { metaType: 'purpose' }],
    ['a number', '{"metaDataList":0}', { metaType: 'purpose' }],
    ['names by code of methods, which need a type', '{"metaDataList":{"PAY1":"Pay"}}', METHODS],
  ])('%s is not read as an empty list', async (_, reply, query) => {
    expect(await rejection(list(reply, query))).toBeInstanceOf(PlatformReplyInvalid);
  });

  test('codes and names keep their digits as JSON text, too', async () => {
    const metaDataList = '[{"code":12345678901234567890,"name":7.10},{"code":"007","name":"Bond"}]';
    expect((await list({ metaDataList }, { metaType: 'purpose' })).items).toEqual([
      { code: '12345678901234567890', name: '7.10', type: null },
      { code: '007', name: 'Bond', type: null },
    ]);
  });

  test('the prompt is an item of names by code', async () => {
    const { items: kept } = await list(
      { metaDataList: { 101: 'Toys', OTHER: 'Please enter' } },
      { metaType: 'business_nature' },
    );
    expect(kept.map(({ code }) => code)).toEqual(['101', 'OTHER']);
  });

  test('two equal items count once', async () => {
    const bank = { code: 'CN1', name: 'One' };
    expect((await list(items(bank, bank))).items).toHaveLength(1);
  });

  const ONE = { code: 'CN1', name: 'One' };
  test.each<[string, unknown]>([
    ['within data', { code: 0, message: 'ok', data: items(ONE) }],
    ['within result, as text', { result: JSON.stringify(items(ONE)) }],
    ['described as an object: the item itself', { metaDataList: ONE }],
    ['described as an object: a list within', { metaDataList: { items: [ONE] } }],
    ['described as an object: item by item', { metaDataList: { CN1: ONE } }],
    [
      'described as an object: by code, which items do not repeat',
      { metaDataList: { CN1: { name: 'One' } } },
    ],
    ['described as an object: names by code', { metaDataList: { CN1: 'One' } }],
    ['as JSON text', { metaDataList: JSON.stringify([ONE]) }],
    ['as JSON text of names by code', { code: 0, data: { metaDataList: JSON.stringify({ CN1: 'One' }) } }],
    ['as JSON text of JSON text', { metaDataList: JSON.stringify(JSON.stringify([ONE])) }],
    ['as a list of JSON texts', { metaDataList: [JSON.stringify(ONE)] }],
  ])('may come %s', async (_, reply) => {
    expect((await list(reply)).items).toEqual([{ ...ONE, type: null }]);
  });

  test('codes and names of digits may come as numbers', async () => {
    const reply = '{"metaDataList":[{"code":1001,"name":7}]}';
    expect((await list(reply, { metaType: 'purpose' })).items).toEqual([
      { code: '1001', name: '7', type: null },
    ]);
  });

  test.each<[string, unknown, string]>([
    ['empty', '', 'is empty'],
    ['left out', undefined, 'is empty'],
    ['null', null, 'is empty'],
    ['a tab', '\t', 'is empty'],
    ['ending with a blank', 'One ', 'begins or ends with a blank'],
    ['with a soft hyphen', 'O\u00adne', 'holds characters that are not printed'],
    ['of 501 characters', 'O'.repeat(501), 'has more than 500 characters'],
  ])('a name that is %s is kept unchanged, with a notice', async (_, name, oddity) => {
    const { items: kept, setAside, notices } = await list(items(ONE, { code: 'CN2', name }));
    expect(kept.map(({ code, name: shown }) => [code, shown])).toEqual([
      ['CN1', 'One'],
      ['CN2', name ?? ''],
    ]);
    expect([setAside, notices]).toEqual([[], [`the name of CN2 ${oddity}`]]);
  });

  test.each<[string, unknown, string, string | null, ListQuery]>([
    ['without code', { name: 'x' }, 'has no code', null, BANKS],
    ['whose code is blanks', { code: ' ', name: 'x' }, 'has no code', null, BANKS],
    ['whose code has a tab', { code: 'CN\t2', name: 'x' }, 'has no code', null, BANKS],
    ['that is null', null, 'is no object', null, BANKS],
    ['whose name is an object', { code: 'CN2', name: {} }, 'has a name that is no text', 'CN2', BANKS],
    [
      'of another country',
      { code: 'US1', name: 'y' },
      'is a bank whose code does not begin with CN',
      'US1',
      BANKS,
    ],
    [
      'with a second meaning of a code',
      { code: 'CN1', name: 'y' },
      'gives code CN1 a second meaning',
      'CN1',
      BANKS,
    ],
    [
      'without a method’s type',
      { code: 'A', name: 'x' },
      'is a payout method of neither type WALLET nor BANK',
      'A',
      METHODS,
    ],
  ])('an item %s is set aside, and the rest is read', async (_, odd, reason, code, query) => {
    const good = { ...ONE, type: 'BANK' };
    const { items: kept, setAside } = await list(items(good, odd), query);
    expect(kept.map((item) => item.code)).toEqual(['CN1']);
    expect(setAside).toEqual([{ place: 2, reason, raw: JSON.stringify(odd), code }]);
  });

  test.each<[string, unknown, ListQuery, string]>([
    ['no list', { metaDataList: 'CN1' }, BANKS, 'metaDataList is no list'],
    [
      'a list of which no item can be kept',
      items({ code: 'US1', name: 'y' }),
      BANKS,
      'no item can be read: item 1 is a bank whose code does not begin with CN',
    ],
    [
      'an error in place of the list',
      { metaDataList: { code: 'E99999', message: 'busy' } },
      { metaType: 'occupation' },
      'no item has a name',
    ],
    [
      'an error in the list',
      items({ code: 'E99999', respMsg: 'busy' }),
      { metaType: 'occupation' },
      'no item has a name',
    ],
    ['HTML', '<html>', BANKS, 'answered by HTML'],
    ['a list by itself', [], BANKS, 'answered by something else than an object'],
  ])('%s is refused as a whole', async (_, reply, query, said) => {
    const error = await rejection(list(reply, query));
    expect(error).toBeInstanceOf(PlatformReplyInvalid);
    expect(error.message).toContain(`sp2502 for the agent: ${said}`);
  });

  test('an error document is a refusal', async () => {
    expect(await rejection(list({ code: 'E1', message: 'no' }))).toBeInstanceOf(PlatformRejected);
  });
});
