/** Amounts of camt.053 and MT940: as many decimals as ISO 4217 gives the currency, never rounded. */
import { describe, expect, test } from 'vitest';
import type { StatementFormat } from '../../../src/statements/formats/format.ts';
import { publishedFormats } from '../../../src/statements/formats/all.ts';
import { bytesOf, statementDay } from '../../statements/days.ts';

const ROW = ['B1', '2026-03-31 09:00:00', 'USD', 'PAY', '1.00', '', '1.00'];

/** A day of one credit, with figures that have the same decimals. */
const dayWith = (format: StatementFormat, currency: string, amount: string, balance = amount) => {
  const row = ['B17', '2026-03-31 09:00:00', currency, 'PAY', amount, '', balance];
  const figures = { opening: '0', creditTotal: amount, creditCount: 1, closing: balance };
  return bytesOf(format.write(statementDay([row], { currency, figures }))).then((bytes) =>
    bytes.toString('latin1'),
  );
};

describe.each(publishedFormats(['mt940', 'camt053']))('amounts in $name', (format) => {
  const isMt940 = format.name === 'mt940';
  const point = isMt940 ? ',' : '.';

  test.each([
    ['USD', '10.005', 2],
    ['JPY', '10.5', 0],
    ['KWD', '10.0005', 3],
    // Shown without decimals as a rule, and having two by ISO.
    ['HUF', '10.005', 2],
    ['IDR', '10.005', 2],
  ])('of %s with more decimals than ISO 4217 has are not rounded: %s', async (currency, amount, decimals) => {
    await expect(dayWith(format, currency, amount)).rejects.toMatchObject({
      name: 'FormatTooSmall',
      message:
        `the statement of M-1 in ${currency} for 2026-03-31 cannot be written as ${format.name}: the amount ${amount} of ` +
        `entry B17 has more decimals than ${currency} has, which are ${decimals}. Take the CSV, which holds every day.`,
    });
  });

  test('that only add up to whole units are not rounded', async () => {
    const half = ['B1', '2026-03-31 09:00:00', 'USD', 'PAY', '0.005', '', '0.005'];
    const rows = [half, ['B2', ...half.slice(1, 6), '0.010']];
    const figures = { opening: '0', creditTotal: '0.010', creditCount: 2, closing: '0.010' };
    await expect(bytesOf(format.write(statementDay(rows, { figures })))).rejects.toThrow(
      'the amount 0.005 of entry B1 has more decimals',
    );
  });

  test('of the opening that no entry explains are told as such', async () => {
    const day = statementDay([ROW], { figures: { opening: '1.005', closing: '1.00' } });
    await expect(bytesOf(format.write(day))).rejects.toThrow(
      'the opening 1.005 has more decimals than USD has',
    );
  });

  test.each([
    ['USD', '10.500', '10.50'],
    ['USD', '10.5', '10.5'],
    ['JPY', '1000.00', '1000'],
    ['HUF', '10.55', '10.55'],
    ['KWD', '10.5550', '10.555'],
    // ISO has no such code, or gives it no minor unit.
    ['CNH', '10.0050', '10.0050'],
    ['XAU', '10.0050', '10.0050'],
  ])('of %s are written without zeros that are too many: %s is %s', async (currency, amount, written) => {
    const spelled = written.replace('.', point) + (isMt940 && !written.includes('.') ? ',' : '');
    const text = await dayWith(format, currency, amount);
    const [entry, closing] = isMt940
      ? [`C${spelled}NMSC`, `:62F:C260331${currency}${spelled}\r\n`]
      : [
          `<Amt Ccy="${currency}">${spelled}</Amt>`,
          `<Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="${currency}">${spelled}<`,
        ];
    expect(text).toContain(entry);
    expect(text).toContain(closing);
  });
});
