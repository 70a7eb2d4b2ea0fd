import { expect, test } from 'vitest';
import { application, enterprise, receiver, sandbox } from './support.ts';

test('by default a reply has the document’s fields and nothing else', async () => {
  const { post } = await sandbox();
  expect((await post('sp2502', { metaType: 'purpose' })).reply).toEqual({
    metaDataList: [
      { code: '1001', name: 'Goods trade' },
      { code: '1002', name: 'Services' },
    ],
  });
});

test('envelope, numbers, order and additional fields change the form of a reply, not its meaning', async () => {
  const { url } = await sandbox({
    latitude: {
      envelope: 'data',
      replyType: 'text/json',
      codesAsNumbers: true,
      fieldOrder: 'reversed',
      moreFields: true,
    },
    reference: {
      purpose: [
        { code: '1001', name: 'Goods' },
        { code: '01', name: 'Other' },
      ],
    },
  });
  const response = await fetch(`${url}/api/sp2502`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"metaType":"purpose"}',
  });
  expect(response.headers.get('content-type')).toMatch(/^text\/json/);
  const spare = '"extension":{"note":null},"traceId":"7f3a",';
  expect(await response.text()).toBe(
    `{"code":200,"message":"ok","data":{${spare}"metaDataList":` +
      `[{${spare}"name":"Goods","code":1001},{${spare}"name":"Other","code":"01"}]}}`,
  );
});

test.each([
  ['empty', { payeeId: '' }],
  ['null', { payeeId: null }],
  ['left-out', {}],
] as const)('a missing payeeId is %s', async (nothing, payee) => {
  const { register } = await sandbox({
    latitude: { nothing },
    reviews: { payeeIdAtOnce: false, beneficiary: 'never' },
  });
  const { merOrderNo, bizFlowNo, ...rest } = (await register(enterprise())).reply;
  expect([merOrderNo, typeof bizFlowNo]).toEqual(['B-1', 'string']);
  expect(rest).toEqual({ ...payee, status: '01', respCode: 'S00000' });
});

test('a notification can have the envelope, another type or none, and a slash at the end of its path', async () => {
  const { url, pushed } = await receiver();
  const { apply, acted } = await sandbox({ latitude: { envelope: 'result', pushType: '', pushSlash: true } });
  await apply(application({ callbackUrl: url }));
  await acted.settled();
  expect(pushed).toMatchObject([
    { path: '/notify/', payload: { code: '0', result: { merOrderNo: 'A-1', code: 'S00000' } } },
  ]);
  expect(pushed[0]!.headers['content-type']).toBeUndefined();
});

test('lengths count characters, and file names may have any letters', async () => {
  const { apply } = await sandbox();
  const file = '/upload/公司/营业执照 (1).pdf'.replace(' ', '_');
  const taken = application({ merNameCn: '𠀀'.repeat(255), certificate: [file] });
  expect((await apply(taken)).reply).toMatchObject({ code: 'S00001' });
  expect((await apply(application({ merNameCn: '𠀀'.repeat(256) }))).status).toBe(400);
  for (const path of ['upload/a.pdf', '/upload/a b #2.pdf'])
    expect((await apply(application({ certificate: [path] }))).status).toBe(200);
  for (const path of ['paper.pdf', 'https://files.example.com/a.pdf', 'C:\\paper.pdf', 'scans\\paper.pdf']) {
    expect((await apply(application({ certificate: [path] }))).status).toBe(400);
  }
});

const JPEG = `/9j/4AAQ${'SkZJRgABAQEA'.repeat(5)}`;
const PNG = `iVBORw0KGgo${'AAAANSUhEUgAA'.repeat(4)}A`;
const FORMS = {
  path: ['/upload/a.png', 'upload/2026/a b.png'],
  base64: [JPEG, PNG, `data:image/png;base64,${PNG}`],
  url: ['https://files.example/a/b.png'],
} as const;

test.each(Object.keys(FORMS) as (keyof typeof FORMS)[])(
  'images may have to be of the form %s',
  async (images) => {
    const { register } = await sandbox({ latitude: { images } });
    for (const [form, given] of Object.entries(FORMS)) {
      for (const [index, registerCertImg] of given.entries()) {
        // What base64 of a JPEG begins with could be a path.
        if (form === 'base64' && images === 'path' && registerCertImg === JPEG) continue;
        const payee = enterprise({
          registerCertImg,
          merOrderNo: `${form}${index}`,
          accountNo: `${form}${index}`,
        });
        expect((await register(payee)).status, registerCertImg).toBe(form === images ? 200 : 400);
      }
    }
  },
);

test.each([
  ['array', [{ code: '1', name: 'A' }]],
  ['object', { 1: { code: '1', name: 'A' } }],
  ['map', { 1: 'A' }],
  ['text', '[{"code":"1","name":"A"}]'],
] as const)('a list may come as %s', async (catalogue, metaDataList) => {
  const { post } = await sandbox({
    latitude: { catalogue },
    reference: { purpose: [{ code: '1', name: 'A' }] },
  });
  expect((await post('sp2502', { metaType: 'purpose' })).reply).toEqual({ metaDataList });
});

test.each([
  ['item', [{ code: 'ALL0000001', name: 'ALL' }]],
  ['array', []],
  ['null', null],
] as const)('what is not found may come as %s', async (nothingFound, metaDataList) => {
  const { post } = await sandbox({ latitude: { nothingFound } });
  expect((await post('sp2502', { metaType: 'bank', countryCode: 'AQ' })).reply).toEqual({ metaDataList });
});

test('fields that the document does not show are refused, unless they may be sent', async () => {
  const further = enterprise({ channel: 'web' });
  expect((await (await sandbox()).register(further)).status).toBe(400);
  const { register, apply } = await sandbox({ latitude: { furtherFields: true } });
  expect((await register(further)).status).toBe(200);
  expect((await apply(application({ channel: 'web' }))).status).toBe(200);
  expect((await register({ ...further, accountNo: '', merOrderNo: 'B-3' })).status).toBe(400);
});

test('a known number may be refused', async () => {
  const { register, acted } = await sandbox({ latitude: { knownNumber: 'refusal' } });
  expect((await register(enterprise())).status).toBe(200);
  expect(await register(enterprise())).toMatchObject({ status: 409, reply: { code: 'E40902' } });
  expect(acted.payees()).toHaveLength(1);
});
