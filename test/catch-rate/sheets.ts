/** Makes the tables of the card from counted outcomes. */
import type { NightCalls } from './calls.ts';
import { FAMILIES, type Form } from './form.ts';
import type { Outcome } from './play.ts';
import { byForm, countClean, countOf, type CleanCount, type Count } from './tally.ts';
import type { Results } from './work.ts';

const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${Math.round((100 * part) / whole)} %`;
/** Most figures of a good card are 0, so a dot replaces them. */
const orNone = (figure: number): string => (figure === 0 ? '·' : String(figure));

const exitCodesText = ({ exitCodes }: Count): string =>
  [...exitCodes].map(([code, times]) => `${code} ×${times}`).join(', ');

/** `20 by night 1`: 20 were caught later, the last of them that many nights after the lie's night. */
const laterText = ({ endings, nightsMax }: Count): string =>
  endings.later === 0 ? '·' : `${endings.later} by night ${nightsMax}`;

/** `20, 12 mended`: 20 were never reported, and of these 12 were right again at the end. */
const silentText = ({ endings, mendedUnsaid }: Count): string =>
  mendedUnsaid === 0 ? orNone(endings.silent) : `${endings.silent}, ${mendedUnsaid} mended`;

const COLUMNS = [
  '>histories',
  '>same night',
  '>later',
  '>silent',
  '>harmless',
  '>at its place',
  '>right sentence',
  '>first sentence right',
  '>believed',
  '>wrong as continuous',
  '>revised unsaid',
  'exit codes',
] as const;

const cellsOf = (count: Count): string[] => [
  String(count.histories),
  orNone(count.endings['same night']),
  laterText(count),
  silentText(count),
  orNone(count.endings.harmless),
  percent(count.atPlace, count.caught),
  percent(count.rightSentence, count.caught),
  percent(count.firstRight, count.caught),
  orNone(count.believed),
  orNone(count.wrongAsContinuous),
  orNone(count.revisedUnsaid),
  exitCodesText(count),
];

const isVisible = ({ sight }: Form): boolean => sight.kind === 'visible';

export interface Sheet {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

type Grouped = readonly (readonly [Form, readonly Outcome[]])[];
const outcomesOf = (grouped: Grouped): readonly Outcome[] => grouped.flatMap(([, own]) => own);

const formRows = (grouped: Grouped): string[][] =>
  grouped.map(([form, own]) => [form.name, form.lie, ...cellsOf(countOf(own))]);

function familySheet(visible: Grouped): Sheet {
  const rows = FAMILIES.flatMap((family) => {
    const own = visible.filter(([form]) => form.family === family);
    return own.length === 0 ? [] : [[family, String(own.length), ...cellsOf(countOf(outcomesOf(own)))]];
  });
  const all = ['all', String(visible.length), ...cellsOf(countOf(outcomesOf(visible)))];
  return {
    title: 'What this API lets anyone see, by family',
    columns: ['family', '>forms', ...COLUMNS],
    rows: [...rows, all],
  };
}

const familySheets = (visible: Grouped): Sheet[] =>
  FAMILIES.flatMap((family) => {
    const own = visible.filter(([form]) => form.family === family);
    return own.length === 0
      ? []
      : [{ title: `Lies: ${family}`, columns: ['form', 'the lie', ...COLUMNS], rows: formRows(own) }];
  });

function untellableSheet(untellable: Grouped): Sheet {
  const rows = untellable.map(([form, own]) => {
    const { histories, caught, endings } = countOf(own);
    const because = form.sight.kind === 'visible' ? '' : form.sight.because;
    return [form.name, form.lie, because, String(histories), orNone(caught), orNone(endings.silent)];
  });
  return {
    title: 'What nobody can tell from this API',
    columns: ['form', 'the lie', 'because', '>histories', '>caught', '>silent'],
    rows,
  };
}

function cleanSheets(clean: CleanCount): Sheet[] {
  const { histories, runs, entries, alarmed, harmed, traits, ingredients, sentences } = clean;
  return [
    {
      title: 'Clean histories: every word of a run is a false alarm',
      columns: ['>histories', '>runs', '>entries', '>with a false alarm', '>copy not true'],
      rows: [[histories, runs, entries, alarmed, harmed].map((figure) => figure.toLocaleString('en'))],
    },
    {
      title: 'How many clean histories truly have it, in their books or in replies',
      columns: ['what', '>histories'],
      rows: ingredients.map(([name, count]) => [name, String(count)]),
    },
    {
      title: 'False alarms by what is in the history',
      columns: ['with', '>histories', '>with a false alarm'],
      rows: traits.map(([name, of]) => [name, String(of.histories), orNone(of.alarmed)]),
    },
    ...(sentences.length === 0
      ? []
      : [
          {
            title: 'What the false alarms said',
            columns: ['sentence', '>histories'],
            rows: sentences.map(([sentence, times]) => [sentence, String(times)]),
          },
        ]),
  ];
}

const callsSheet = (calls: readonly NightCalls[]): Sheet => ({
  title: 'Calls a night, for a merchant in steady state',
  columns: ['>pages a day', '>calls'],
  rows: [...calls]
    .sort((a, b) => a.pagesADay - b.pagesADay)
    .map((night) => [String(night.pagesADay), String(night.calls)]),
});

/** All tables of the card for which there are figures. */
export function sheetsOf(forms: readonly Form[], results: Results): Sheet[] {
  const grouped = byForm(forms, results.outcomes);
  const visible = grouped.filter(([form]) => isVisible(form));
  const untellable = grouped.filter(([form]) => !isVisible(form));
  return [
    ...(visible.length === 0 ? [] : [familySheet(visible), ...familySheets(visible)]),
    ...(untellable.length === 0 ? [] : [untellableSheet(untellable)]),
    ...(results.clean.length === 0 ? [] : cleanSheets(countClean(results.clean))),
    ...(results.calls.length === 0 ? [] : [callsSheet(results.calls)]),
  ];
}
