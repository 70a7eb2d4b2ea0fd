import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addAmounts,
  canonicalAmount,
  compareAmounts,
  createCurrencies,
  decimalsOf,
  fromScaled,
  isWithinDigits,
  plainDecimal,
  subtractAmounts,
  toScaled,
} from '../../src/ledger/money.ts';

/** Any amount as a platform may write it, with up to 18 digits before and 8 after the dot. */
const amounts = fc
  .tuple(fc.bigInt({ min: -(10n ** 26n), max: 10n ** 26n }), fc.integer({ min: 0, max: 8 }))
  .map(([value, scale]) => fromScaled(value, scale));

/** ISO 4217, list one, as of January 2026 (amendment 180), by minor units. */
const LIST_ONE = {
  0: `BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF`,
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  3: `BHD IQD JOD KWD LYD OMR TND`,
  4: `CLF UYW`,
  none: `XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX`,
};

describe('minor units', () => {
  const currencies = createCurrencies({ CNH: 2 });

  test.each([
    ['USD', 2],
    ['JPY', 0],
    ['KWD', 3],
    ['CLF', 4],
    ['HUF', 2],
    ['CNH', 2],
  ])('%s has %i', (code, units) => {
    expect(currencies.minorUnits(code)).toBe(units);
  });

  test('the whole list of ISO 4217 is known, each code with its minor units', () => {
    const wanted = Object.entries(LIST_ONE).flatMap(([units, codes]) =>
      codes.split(' ').map((code) => [code, units === 'none' ? null : Number(units)] as const),
    );
    expect(wanted.filter(([code]) => !currencies.isKnown(code))).toEqual([]);
    expect(wanted.map(([code]) => [code, currencies.minorUnits(code)])).toEqual(wanted);
  });

  test('an unknown code has none', () => {
    expect(currencies.isKnown('QQQ')).toBe(false);
    expect(currencies.minorUnits('QQQ')).toBeNull();
  });
});

describe('plainDecimal', () => {
  test.each([
    ['0', '0'],
    ['-0', '0'],
    ['12.340', '12.340'],
    ['-0.50', '-0.50'],
    ['1E+3', '1000'],
    ['1.5e3', '1500'],
    ['1.25e1', '12.5'],
    ['-12.5E-3', '-0.0125'],
    ['0.1', '0.1'],
    ['0e5', '0'],
    ['99999999999999999999.99', '99999999999999999999.99'],
  ])('%s is %s', (digits, plain) => {
    expect(plainDecimal(digits)).toBe(plain);
  });

  test.each(['', '-', '1.', '.5', '01', '+1', '1e', 'NaN', 'Infinity', '0x1', '1_000', ' 1', '١'])(
    '%j is no number',
    (digits) => {
      expect(plainDecimal(digits)).toBeNull();
    },
  );

  test.each(['1E+400000', '1E-400000', '1e60', '1e-61'])(
    '%s is refused, as its exponent makes it too long',
    (digits) => {
      expect(plainDecimal(digits)).toBeNull();
    },
  );

  test('reads any double that JSON writes as the same number, and refuses those too small for it', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e20, max: 1e20 }), (value) => {
        const plain = plainDecimal(JSON.stringify(value));
        // A double has up to 17 digits, so that only between these sizes it depends on them.
        if (Math.abs(value) >= 1e-43 || value === 0) expect(plain).not.toBeNull();
        else if (Math.abs(value) < 1e-60) expect(plain).toBeNull();
        if (plain !== null) expect(Number(plain)).toBe(Object.is(value, -0) ? 0 : value);
      }),
    );
  });
});

describe('the range of an amount', () => {
  const nines = (count: number) => '9'.repeat(count);

  test.each([
    [nines(30), true],
    [`-${nines(30)}.${nines(30)}`, true],
    [nines(31), false],
    [`-${nines(31)}`, false],
    [`0.${nines(31)}`, false],
  ])('%s is in the range: %s', (amount, inside) => {
    expect(isWithinDigits(amount)).toBe(inside);
  });

  test('calculated amounts have no limit: sums of the longest amounts keep every digit', () => {
    const longest = fc
      .tuple(fc.bigInt({ min: -(10n ** 60n) + 1n, max: 10n ** 60n - 1n }), fc.integer({ min: 30, max: 30 }))
      .map(([value, scale]) => fromScaled(value, scale));
    fc.assert(
      fc.property(fc.array(longest, { minLength: 1, maxLength: 200 }), (all) => {
        const sum = all.reduce(addAmounts, nines(59));
        const back = all.reduce(subtractAmounts, canonicalAmount(sum, 2)!.amount);
        expect(compareAmounts(back, nines(59))).toBe(0);
      }),
      { numRuns: 30 },
    );
  });
});

describe('canonicalAmount', () => {
  test.each([
    ['12', 2, '12.00', false],
    ['12.3', 2, '12.30', false],
    ['12.3400', 2, '12.34', false],
    ['12.345', 2, '12.345', true],
    ['12.3450', 2, '12.345', true],
    ['100', 0, '100', false],
    ['100.0', 0, '100', false],
    ['100.5', 0, '100.5', true],
    ['-0.00', 2, '0.00', false],
    ['-0.05', 2, '-0.05', false],
    ['1E+3', 2, '1000.00', false],
    ['1.50', null, '1.50', false],
    ['-0', null, '0', false],
  ])('%s in a currency of %s minor units is %s', (digits, units, amount, excess) => {
    expect(canonicalAmount(digits, units)).toEqual({ amount, excess });
  });

  test('refuses text that is no number', () => {
    expect(canonicalAmount('twelve', 2)).toBeNull();
  });

  test('keeps the value, and equal values have equal texts', () => {
    fc.assert(
      fc.property(amounts, fc.integer({ min: 0, max: 4 }), fc.nat(5), (amount, units, zeros) => {
        const { amount: canonical } = canonicalAmount(amount, units)!;
        const padded = decimalsOf(amount) === 0 ? amount : amount + '0'.repeat(zeros);
        expect(compareAmounts(canonical, amount)).toBe(0);
        expect(canonicalAmount(padded, units)!.amount).toBe(canonical);
        expect(decimalsOf(canonical)).toBeGreaterThanOrEqual(units);
      }),
    );
  });
});

describe('scaled amounts', () => {
  test('are exact where a JS number is not', () => {
    expect(toScaled('90071992547409.93', 2)).toBe(9_007_199_254_740_993n);
    expect(addAmounts('0.1', '0.2')).toBe('0.3');
    expect(subtractAmounts('0.00', '0.01')).toBe('-0.01');
    expect(fromScaled(-5n, 3)).toBe('-0.005');
  });

  test('are never rounded', () => {
    expect(() => toScaled('1.005', 2)).toThrow(RangeError);
  });

  test('come back as they went in', () => {
    fc.assert(
      fc.property(amounts, fc.nat(6), (amount, more) => {
        const scale = decimalsOf(amount) + more;
        expect(compareAmounts(fromScaled(toScaled(amount, scale), scale), amount)).toBe(0);
      }),
    );
  });

  test('add, subtract and compare consistently', () => {
    fc.assert(
      fc.property(amounts, amounts, amounts, (a, b, c) => {
        expect(compareAmounts(addAmounts(addAmounts(a, b), c), addAmounts(a, addAmounts(b, c)))).toBe(0);
        expect(compareAmounts(subtractAmounts(addAmounts(a, b), b), a)).toBe(0);
        expect(Math.sign(compareAmounts(a, b))).toBe(-Math.sign(compareAmounts(b, a)) + 0);
        expect(compareAmounts(a, b) < 0).toBe(subtractAmounts(a, b).startsWith('-'));
      }),
    );
  });
});
