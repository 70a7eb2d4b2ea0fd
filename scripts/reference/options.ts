/** Makes docs/options.md from the values of the options. */
import type { Option } from '../../src/options/option.ts';
import { REASONS } from '../dependencies/reasons.ts';
import { code, MADE_BY } from './markdown.ts';

const codes = (names: readonly string[]): string => names.map(code).join(', ');

/** The packages that no one else needs. */
const packagesOf = (name: string): readonly string[] => Object.keys(REASONS[name] ?? {});

function optionSection(option: Option): string {
  const { name, about, needs = [], settings = [], tables = [], roles = [], docs = [] } = option;
  const { commands = [], jobs = [] } = option;
  const rows: readonly (readonly [string, string])[] = [
    ['commands', codes(commands.map(({ usage }) => usage.replace(/ .*/, '')))],
    ['jobs', codes(jobs.map((job) => job.name))],
    ['settings', codes(settings)],
    ['tables', codes(tables)],
    ['roles', codes(roles)],
    ['packages', codes(packagesOf(name))],
    ['needs', needs.map((needed) => `[${needed}](#${needed})`).join(', ')],
    ['to read', docs.map((place) => `[${place.replace(/#.*/, '')}](${place})`).join(', ')],
  ];
  const given = rows.flatMap(([kind, text]) => (text === '' ? [] : [`- ${kind}: ${text}`]));
  const sentence = `${about.charAt(0).toUpperCase()}${about.slice(1)}. In \`src/options/${name}\`.`;
  return [`## ${name}`, sentence, given.join('\n')].join('\n\n');
}

/** The page. `docs` of an option are links from the folder of the page. */
export const optionsPage = (options: readonly Option[]): string =>
  [
    '# Options',
    MADE_BY,
    'What a night can do without, a folder each. Without the folder and its two lines in `src/options/all.ts`, an option is gone, with ' +
      'those that need it; `npm run without -- NAME FOLDER` makes such a copy. What stands here is its own: settings, tables and packages ' +
      'that no option names are the core’s.',
    ...options.map(optionSection),
  ].join('\n\n');
