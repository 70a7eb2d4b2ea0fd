/** What can be read from the raw text of an entry that cannot be read as one. */
import { expect, test } from 'vitest';
import { readQuarantined } from '../../src/platform/ledger-entry.ts';

const NOTHING = { currency: null, nets: [] };

test.each([
  ['{"currency":"USD","inAmount":5.10,"outAmount":null}', { currency: 'USD', nets: ['5.10'] }],
  ['{"currency":"USD","outAmount":"5.1"}', { currency: 'USD', nets: ['-5.1'] }],
  ['{"currency":"usd","inAmount":5}', { currency: 'USD', nets: ['5'] }],
  ['{"currency":"us","inAmount":"","outAmount":"1,234.50"}', { currency: null, nets: ['-1234.50'] }],
  ['{"inAmount":"-1,234,567"}', { currency: null, nets: ['-1234567', '1234567'] }],
  ['{"inAmount":"1,234"}', NOTHING],
  ['{"currency":"JPY","inAmount":"1,234"}', { currency: 'JPY', nets: ['1234'] }],
  ['{"currency":"KWD","inAmount":"1,234"}', { currency: 'KWD', nets: [] }],
  ['{"inAmount":5,"outAmount":3}', { currency: null, nets: ['2', '5', '-3'] }],
  ['{"inAmount":5,"outAmount":5}', { currency: null, nets: ['5', '-5'] }],
  ['{"inAmount":0,"outAmount":5}', { currency: null, nets: ['-5'] }],
  ['{"inAmount":-5}', { currency: null, nets: ['-5', '5'] }],
  ['{"outAmount":-5}', { currency: null, nets: ['5', '-5'] }],
  ['{"inAmount":90071992547409931234.01}', { currency: null, nets: ['90071992547409931234.01'] }],
  ['{"inAmount":"5,10"}', NOTHING],
  ['{"inAmount":1e999999}', NOTHING],
  ['{}', NOTHING],
  ['[5]', NOTHING],
  ['null', NOTHING],
  ['7', NOTHING],
  ['{"inAmount":', NOTHING],
  ['', NOTHING],
])('%s', (raw, reading) => {
  expect(readQuarantined(raw)).toEqual(reading);
});
