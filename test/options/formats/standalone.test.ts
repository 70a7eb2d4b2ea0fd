/** What `verify.mjs` has of the formats, next to what the command has. */
import { expect, test } from 'vitest';
import { formats as value } from '../../../src/options/formats/option.ts';
import { formats as alone } from '../../../src/options/formats/standalone.ts';
import type { StatementFormat } from '../../../src/statements/formats/format.ts';

const headOf = ({ name, extension, canBePublished, reader }: Omit<StatementFormat, 'write'>) => ({
  ...{ name, extension, canBePublished, isRead: reader !== undefined },
});

test('it knows each format, and of none it reads less', () => {
  const heads: readonly Omit<StatementFormat, 'write'>[] = alone.formats;
  expect(heads.map(headOf)).toEqual(value.formats!.map(headOf));
});
