/** The texts of the pages, as a whole: what holds for each of them in any language. */
import { expect, it } from 'vitest';
import { EN } from '../../../../src/plugins/pages/html/texts/en.ts';

type Text = string | ((...told: (string | number)[]) => string);

/** Each text with its place, such as `months.title`. */
const textsIn = (node: object, place = ''): [place: string, text: Text][] =>
  Object.entries(node).flatMap(([name, value]: [string, object | Text]) =>
    typeof value === 'object' ? textsIn(value, `${place}${name}.`) : [[place + name, value]],
  );
const TEXTS = textsIn(EN);

it('no text is empty', () => {
  expect(TEXTS.filter(([, text]) => text === '')).toEqual([]);
});

it('a text shows everything that it is given', () => {
  const given = [173, 94, 58];
  const missing = TEXTS.flatMap(([place, text]) => {
    if (typeof text === 'string') return [];
    const own = given.slice(0, text.length);
    const said = text(...own);
    return own.every((one) => said.includes(String(one))) && said !== '' ? [] : [[place, said]];
  });
  expect(missing).toEqual([]);
});
