/** `reference`: the platform's lists of banks, occupations, business natures, purposes and payout methods. */
import { Option, type Command } from 'commander';
import { isCountryCode } from '../../ledger/countries.ts';
import { META_TYPES, META_TYPES_BY_COUNTRY, type MetaType } from '../../platform/wire.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import { executeReferenceRun, listName, referenceWork, type ReferenceRunReport } from './run.ts';
import {
  listReferenceItems,
  listReferenceLists,
  type ReferenceItemRow,
  type ReferenceListRow,
} from './stored.ts';
import { answer, platformSettings, print, stopSignal, withPlatform } from '../../cli/context.ts';
import { counted, lines, listTable, table, type Times } from '../../cli/output/text.ts';

const KINDS = META_TYPES.join(', ');

/** Reads a country code. Throws `UsageError` for what cannot be one. */
function countryOf(text: string): string {
  if (!isCountryCode(text))
    throw new UsageError(
      `--country ${text} is no country code; write the two capitals of ISO 3166-1, like CN.`,
    );
  return text;
}

/** Reads the name of a list; `payout-method` means `payout_method`. Throws `UsageError`. */
function kindOf(text: string): MetaType {
  const asked = text.replaceAll('-', '_');
  const kind = META_TYPES.find((one) => one === asked);
  if (kind === undefined) throw new UsageError(`there is no list ${text}; the lists are ${KINDS}.`);
  return kind;
}

export function referenceCommand(reference: Command): void {
  reference
    .command('sync')
    .description('read every list and keep it; a code that disappeared stays known (exit code 3)')
    .addOption(
      new Option(
        '--country <code>',
        'banks and payout methods of this country (may be repeated); without it those in DAYBOOK_REFERENCE_COUNTRIES',
      )
        .argParser((value: string, earlier: readonly string[]) => [...earlier, countryOf(value)])
        .default([], 'none'),
    )
    .action(async ({ country }: { readonly country: readonly string[] }, self: Command) => {
      await withPlatform(platformSettings(self), async (app) => {
        const work = referenceWork(app, stopSignal());
        const countries = country.length === 0 ? work.countries : country;
        const report = await executeReferenceRun({ ...work, countries });
        print(self, { document: report, text: syncText(report, countries), exitCode: report.exitCode });
      });
    });
  reference
    .command('list')
    .argument('<kind>', KINDS)
    .option('--country <code>', 'only this country')
    .option('--all', 'also codes the platform no longer lists')
    .description('what is stored of a list, with when each code was first and last seen')
    .addHelpText('after', '\nExample:\n  daybook reference list bank --country CN')
    .action((text: string, flags: ListFlags, self: Command) => {
      const kind = kindOf(text);
      const country = flags.country === undefined ? undefined : countryOf(flags.country);
      if (country !== undefined && !META_TYPES_BY_COUNTRY.includes(kind))
        throw new UsageError(`${kind} is one list for all countries; leave out --country.`);
      return answer(self, async ({ db, times }) => {
        const items = await listReferenceItems(db, { kind, country, withRemoved: flags.all ?? false });
        const lists = (await listReferenceLists(db)).filter(
          (list) => list.kind === kind && (country === undefined || list.country === country),
        );
        return { document: { lists, items }, text: listText(items, lists, times) };
      });
    });
}

interface ListFlags {
  readonly country?: string;
  readonly all?: boolean;
}

function syncText({ lists, notes }: ReferenceRunReport, countries: readonly string[]): string {
  return lines(
    table(
      ['list', '>codes', '>new', '>renamed', '>back', '>gone'],
      lists.map((list) => [
        listName(list),
        list.itemCount ?? 'not read',
        ...(['added', 'renamed', 'returned', 'gone'] as const).map(
          (change) => list.changes[change].length || '',
        ),
      ]),
    ),
    countries.length === 0 &&
      '\nno banks and payout methods: set DAYBOOK_REFERENCE_COUNTRIES, or name a country by --country',
    notes.length > 0 && '',
    ...notes,
  );
}

/**
 * Escapes what cannot be printed, as JSON does: a name may contain tabs, or characters that change the direction of
 * the text after them.
 */
const withEscapes = (text: string): string =>
  text.replaceAll(/\p{C}/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);

function listText(
  items: readonly ReferenceItemRow[],
  lists: readonly ReferenceListRow[],
  times: Times,
): string {
  if (lists.length === 0) return 'this list was never read; `daybook reference sync` reads it';
  const prompts = items.filter(({ isPrompt }) => isPrompt);
  const codes = items.filter(({ isPrompt }) => !isPrompt);
  const hasCountry = lists.some(({ country }) => country !== '');
  const hasType = codes.some(({ methodType }) => methodType !== null);
  return lines(
    codes.length > 0 &&
      listTable(codes, {
        ...(hasCountry && { country: (item: ReferenceItemRow) => item.country }),
        code: (item) => item.code,
        '~name': (item) => withEscapes(item.name),
        ...(hasType && { type: (item: ReferenceItemRow) => item.methodType }),
        'first seen': (item) => times.day(item.firstSeenAt),
        'last seen': (item) => `${times.day(item.lastSeenAt)}${item.hasExited ? ', gone' : ''}`,
      }),
    ...prompts.map(({ code, name }) => `${code} asks for one of your own (“${name}”) and is no code to send`),
    ...lists.flatMap((list) =>
      list.setAside.map(
        ({ place, reason, raw }) => `${listName(list)}: item ${place} ${reason}: ${withEscapes(raw)}`,
      ),
    ),
    ...lists
      .filter(({ itemCount }) => itemCount === 0)
      .map((list) => `${listName(list)}: the platform found nothing on ${times.day(list.readAt)}`),
    codes.length > 0 && `${counted(codes.length, 'code')}; days are of ${times.zone}`,
  );
}
