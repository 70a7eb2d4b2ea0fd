/** Lists what is to be checked, form by form: lies never reported, and first sentences that name another cause. */
import type { Form } from './form.ts';
import type { Outcome } from './play.ts';
import { byForm } from './tally.ts';

/** Different first sentences shown of one form. */
const SENTENCES_MAX = 3;

const again = ({ form, seed }: Outcome): string => {
  const [of, history] = seed.split('/');
  return `npm run catch-rate -- --form ${form} --seed ${of} --from ${history} --histories 1`;
};

const withoutFigures = ({ first }: Outcome): string => first.replaceAll(/\d+/g, 'N');

function formText(form: Form, outcomes: readonly Outcome[]): string | null {
  const of = outcomes.length;
  const silent = outcomes.filter(({ ending }) => ending === 'silent');
  const wrong = outcomes.filter(({ isFirstRight }) => isFirstRight === false);
  const spoiled = outcomes.filter((one) => one.spoiled !== null);
  const unreadable = form.sight.kind !== 'visible';
  if (unreadable || silent.length + wrong.length + spoiled.length === 0) return null;
  const kinds = [...Map.groupBy(wrong, withoutFigures).values()].sort((a, b) => b.length - a.length);
  return [
    `### ${form.name}: ${form.lie}`,
    ...(silent.length === 0 ? [] : [`- silent ${silent.length} of ${of}; \`${again(silent[0]!)}\``]),
    ...kinds
      .slice(0, SENTENCES_MAX)
      .map((kind) => `- first sentence ${kind.length} of ${of}: "${kind[0]!.first}"; \`${again(kind[0]!)}\``),
    ...(spoiled.length === 0
      ? []
      : [
          `- alarm before the lie ${spoiled.length} of ${of}: "${spoiled[0]!.spoiled!.slice(0, 300)}"; \`${again(spoiled[0]!)}\``,
        ]),
  ].join('\n');
}

/** One line a form of which anything is to be checked. */
function rowOf(form: Form, outcomes: readonly Outcome[]): string | null {
  const count = (is: (outcome: Outcome) => boolean): number => outcomes.filter(is).length;
  const silent = count(({ ending }) => ending === 'silent');
  const wrong = count(({ isFirstRight }) => isFirstRight === false);
  const spoiled = count((one) => one.spoiled !== null);
  const believed = count(({ isBelieved }) => isBelieved);
  const later = count(({ ending }) => ending === 'later');
  if (form.sight.kind !== 'visible' || silent + wrong + spoiled + later + believed === 0) return null;
  return `| ${[form.name, outcomes.length, silent, later, wrong, believed, spoiled].join(' | ')} |`;
}

const HEAD = `| form | histories | silent | later | wrong first | believed | alarm before the lie |
| --- | --: | --: | --: | --: | --: | --: |`;

export function findingsText(forms: readonly Form[], outcomes: readonly Outcome[]): string {
  const all = byForm(forms, outcomes);
  const parts = (of: (form: Form, own: readonly Outcome[]) => string | null): string[] =>
    all.map(([form, own]) => of(form, own)).filter((text) => text !== null);
  return `${HEAD}\n${parts(rowOf).join('\n')}\n\n${parts(formText).join('\n\n')}\n`;
}
