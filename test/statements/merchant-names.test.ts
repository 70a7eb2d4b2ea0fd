/** Names that hold a merchant's number: two merchants never share one, whatever the platform numbers them by. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isMerchantNo } from '../../src/ledger/merchant-no.ts';
import { shellWord } from '../../src/ledger/text.ts';
import { entryAddress, merchantOfPart, monthAddress } from '../../src/plugins/pages/html/addresses.ts';
import { closeKey, fileOf, manifestKey } from '../../src/verify/names.ts';
import { monthZipName, overviewName, signatureKey, statementKey } from '../../src/statements/keys.ts';
import { monthSubject } from '../../src/store/downloaded.ts';
import { merchantLease } from '../../src/store/engine/lease.ts';

const MONTH = '2026-03';
const DAY = '2026-03-31';

/** Every name, key, address and argument that holds a merchant's number. */
const namesOf = (merchantNo: string): readonly string[] => [
  statementKey({ merchantNo, currency: 'USD' }, DAY, 1),
  fileOf(statementKey({ merchantNo, currency: 'USD' }, DAY, 1)),
  manifestKey(merchantNo, DAY),
  signatureKey(merchantNo, DAY),
  closeKey(merchantNo, MONTH, 1),
  fileOf(closeKey(merchantNo, MONTH, 1)),
  overviewName({ extension: 'pdf' }, MONTH, merchantNo),
  monthZipName(MONTH, [merchantNo]),
  monthAddress(merchantNo, MONTH),
  entryAddress(merchantNo, '..'),
  monthSubject(MONTH, [merchantNo]),
  merchantLease(merchantNo),
  shellWord(merchantNo),
];

/** Digits, signs that mean something to a file system, a URL, a form or a shell, and letters of several alphabets. */
const SIGNS = [
  ...Array.from('a1Ab.%~=_-/\\ ?#&+:;*"\'<>|@!$^`{}[](),'),
  '商',
  '户',
  'é',
  'e\u0301',
  '\u{1f600}',
  '%2F',
  '%25',
  '..',
];
const merchantNos = fc
  .oneof(
    fc.array(fc.constantFrom(...SIGNS), { minLength: 1, maxLength: 6 }).map((parts) => parts.join('')),
    fc
      .array(fc.constantFrom('商', '户', '\u{1f600}', 'ü'), { minLength: 10, maxLength: 32 })
      .map((parts) => parts.join('')),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 32 }),
  )
  .filter(isMerchantNo);

it('two different merchants never share a name', () => {
  fc.assert(
    fc.property(fc.uniqueArray(merchantNos, { minLength: 2, maxLength: 12 }), (all) => {
      const names = all.map(namesOf);
      names[0]!.forEach((_, at) => {
        expect(new Set(names.map((own) => own[at])).size).toBe(all.length);
      });
    }),
    { numRuns: 400 },
  );
});

it('in the audit a merchant with a blank is no merchant with a currency', () => {
  expect(monthSubject(MONTH, ['A USD'])).not.toBe(monthSubject(MONTH, ['A'], ['USD']));
  expect(monthSubject(MONTH, ['A', 'B'])).not.toBe(monthSubject(MONTH, ['A B']));
});

/** What a file system takes, with what a file that is still being written has around its name. */
const NAME_BYTES_MAX = 255;
const AROUND = `..1234567890.${'u'.repeat(36)}.part`.length;

it('a name is one part of a path in every store, and short enough for a file system', () => {
  fc.assert(
    fc.property(merchantNos, (merchantNo) => {
      const [key, file, manifest, signature, close, closeFile, overview, zip] = namesOf(merchantNo);
      for (const one of [key!, manifest!, signature!, close!]) expect(one.split('/')).toHaveLength(3);
      for (const part of [key!, close!]
        .flatMap((one) => one.split('/'))
        .concat(file!, closeFile!, overview!, zip!)) {
        expect(part).toMatch(/^[A-Za-z0-9][A-Za-z0-9._%=-]*$|^[%=_-][A-Za-z0-9._%=-]*$/);
        expect(Buffer.byteLength(part) + '.minisig.camt053.xml'.length + AROUND).toBeLessThanOrEqual(
          NAME_BYTES_MAX,
        );
      }
    }),
    { numRuns: 400 },
  );
});

it('the way back leads to the same merchant', () => {
  fc.assert(
    fc.property(merchantNos, (merchantNo) => {
      const [, , part = ''] = new URL(monthAddress(merchantNo, '2026-03'), 'http://localhost').pathname.split(
        '/',
      );
      expect(merchantOfPart(decodeURIComponent(part))).toBe(merchantNo);
      const [, coded = ''] = /^merchant=([^/]*)\//.exec(manifestKey(merchantNo, DAY)) ?? [];
      const decoded = coded.startsWith('=')
        ? Buffer.from(coded.slice(1), 'hex').swap16().toString('utf16le')
        : decodeURIComponent(coded);
      expect(decoded).toBe(merchantNo);
    }),
    { numRuns: 400 },
  );
});

it.each(['10001', 'SBX-M-1', 'a.b_c-D', 'M1.', 'CON', 'USD'])(
  '%s has the names that it always had',
  (merchantNo) => {
    expect(namesOf(merchantNo)).toEqual([
      `merchant=${merchantNo}/date=2026-03-31/${merchantNo}_USD_2026-03-31.r1.csv`,
      `${merchantNo}_USD_2026-03-31.r1.csv`,
      `merchant=${merchantNo}/date=2026-03-31/manifest.json`,
      `merchant=${merchantNo}/date=2026-03-31/manifest.json.minisig`,
      `merchant=${merchantNo}/close=2026-03/${merchantNo}_2026-03.close1.json`,
      `${merchantNo}_2026-03.close1.json`,
      `month-2026-03-${merchantNo}.pdf`,
      `statements-2026-03-${merchantNo}.zip`,
      `/m/${merchantNo}/2026-03`,
      `/entry?merchant=${merchantNo}&number=..`,
      `2026-03 ${merchantNo}`,
      `merchant/${merchantNo}`,
      merchantNo,
    ]);
  },
);
