/** An empty page that may be a refusal by a name that no list has, and what is next to honest pages. */
import { describe, expect, test } from 'vitest';
import { createSuccessCheck, SUCCESS_CODES } from '../../src/ledger/success-codes.ts';
import { extrasOf, createHabits } from '../../src/platform/page-extras.ts';
import { layersOf } from '../../src/platform/reply.ts';

const PAGE = { pageNum: 1, pageSize: 100, total: 0, list: [] };
const OWN = Object.keys(PAGE);

const unusualExtras = (reply: unknown, codes: readonly string[] = SUCCESS_CODES) => {
  const layers = layersOf(JSON.stringify(reply), ['list']);
  const page = layers.find(({ fields }) => OWN.every((name) => name in fields))!;
  return extrasOf(layers, page, OWN, createSuccessCheck(codes));
};
const namesOf = (reply: unknown): string[] => unusualExtras(reply).fields.map(({ name }) => name);

describe('next to a page may say no', () => {
  test.each<[string, unknown]>([
    ['succeed', { succeed: false, ...PAGE }],
    ['succeed', { succeed: 0, ...PAGE }],
    ['rc', { rc: -7, ...PAGE }],
    ['httpStatus', { httpStatus: 503, ...PAGE }],
    ['gatewayCode', { gatewayCode: 'GW-503', ...PAGE }],
    ['outcome', { outcome: 'REJECTED', ...PAGE }],
    ['ack', { ack: 'N', ...PAGE }],
    ['ack', { ack: 0, ...PAGE }],
    ['message', { message: 'system busy', ...PAGE }],
    ['message', { message: 'not successful', ...PAGE }],
    ['msg', { msg: '查询不成功', ...PAGE }],
    ['time', { time: 'try again later', ...PAGE }],
    ['size', { size: 'too large', ...PAGE }],
    ['text', { meta: { advice: { text: 'rate exceeded' } }, ...PAGE }],
    ['notes', { notes: ['maintenance', 'back soon'], ...PAGE }],
    ['x', { data: [{ x: 'busy', ...PAGE }] }],
    ['why', { data: PAGE, info: JSON.stringify({ why: 'busy' }) }],
  ])('%s in %j', (name, reply) => {
    expect(namesOf(reply)).toEqual([name]);
  });
});

test.each<[string, unknown]>([
  ['nothing', PAGE],
  [
    'codes and words of success',
    { code: 'S00000', message: 'Query successful', msg: '操作成功', data: PAGE },
  ],
  [
    'unlisted codes of success',
    { rc: 0, httpStatus: 200, gatewayCode: '0', succeed: true, outcome: 'OK', ...PAGE },
  ],
  [
    'figures of paging',
    {
      pages: 0,
      size: 0,
      startRow: 0,
      hasNextPage: false,
      isLastPage: true,
      navigatepageNums: [1, 2],
      ...PAGE,
    },
  ],
  [
    'numbers of the call and times',
    {
      traceId: '9f8e7d6c5b4a39281706',
      timestamp: 1767225600000,
      time: '2026-01-01 00:00:00',
      elapsed: 3,
      ...PAGE,
    },
  ],
  ['empty values', { message: '', desc: null, notes: [], meta: {}, ...PAGE }],
  ['envelopes', { result: { data: [PAGE] } }],
])('what says nothing: %s', (_, reply) => {
  expect(namesOf(reply)).toEqual([]);
});

test('a value that the settings name as success says nothing', () => {
  expect(unusualExtras({ outcome: 'FINE', ...PAGE }, ['FINE']).fields).toEqual([]);
});

test('what pages with entries carry is habit, until its value is another one', () => {
  const habits = createHabits();
  habits.learn(unusualExtras({ channel: 'east', ...PAGE }).fields);
  expect(habits.unknown(unusualExtras({ channel: 'east', ...PAGE }).fields)).toEqual([]);
  expect(habits.unknown(unusualExtras({ channel: 'down', ...PAGE }).fields)).toEqual([
    { name: 'channel', value: 'down' },
  ]);
});
