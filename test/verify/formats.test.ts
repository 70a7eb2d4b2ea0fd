/** Formats that plugins write are found among downloaded files without these plugins. */
import { expect, test } from 'vitest';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { READABLE_FORMATS } from '../../src/verify/formats.ts';

const spelled = ({ name, extension }: { readonly name: string; readonly extension: string }) =>
  `${name} .${extension}`;

test('every format that can be written is known by its name and the ending of its files', () => {
  const known = READABLE_FORMATS.map(spelled);
  expect(STATEMENT_FORMATS.map(spelled).filter((one) => !known.includes(one))).toEqual([]);
});
