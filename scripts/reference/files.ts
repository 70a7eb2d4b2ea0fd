/** docs/reference/files.md: published files, downloads and the data folder, as the code that writes them knows them. */
import { MONTH_FORMATS, STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { CSV } from '../../src/statements/formats/csv.ts';
import { STATEMENT_COLUMNS, type StatementFormat } from '../../src/statements/formats/format.ts';
import { closeText } from '../../src/months/files.ts';
import { type CloseFile } from '../../src/verify/close-file.ts';
import {
  closeKey,
  fileOf,
  manifestFileNextTo,
  manifestKey,
  SIGNATURE_EXTENSION,
  STORE_MARK_KEY,
} from '../../src/verify/names.ts';
import { signatureKey, nameIn, statementKey, summaryKey } from '../../src/statements/keys.ts';
import { manifestShape } from '../../src/verify/manifest.ts';
import type { Shape } from '../../src/verify/shape.ts';
import { monthCsv, monthOf } from '../../src/months/month.ts';
import { markContent } from '../../src/statements/store-owner.ts';
import { OVER_MIDNIGHT_COLUMNS, summaryCsv, UNREADABLE_COLUMN } from '../../src/statements/summary.ts';
import {
  CLOSE_MEANINGS,
  EXPLAINED_MEANINGS,
  MANIFEST_MEANINGS,
  MONTH_MEANINGS,
  SUMMARY_MEANINGS,
  OVER_MIDNIGHT_MEANINGS,
  UNREADABLE_MEANINGS,
  type Meanings,
} from './file-meanings.ts';
import { formatSections } from './format-sections.ts';
import { block, cell, code, MADE_BY, table } from './markdown.ts';

/** A key's pattern: made for one statement, whose names are then put in braces. */
const patternOf = (key: string): string =>
  key
    .replaceAll('MERCHANT', '{merchantNo}')
    .replaceAll('CCC', '{CCC}')
    .replaceAll('2026-03-31', '{YYYY-MM-DD}')
    .replace('.r1.', '.r{N}.');

const closePattern = (key: string): string =>
  patternOf(key).replaceAll('2026-03', '{YYYY-MM}').replace('.close1.', '.close{N}.');

const DAY = '2026-03-31';
const STATEMENT_KEY = statementKey({ merchantNo: 'MERCHANT', currency: 'CCC' }, DAY, 1);

const keyRows = (): string[][] =>
  [
    [patternOf(STATEMENT_KEY), 'a statement: the entries of one account day'],
    [
      patternOf(summaryKey('MERCHANT', DAY, 1)),
      'the summary of a merchant’s day: one line for each currency',
    ],
    [
      patternOf(manifestKey('MERCHANT', DAY)),
      'the pointer to the current revisions. It is written last, so what it names is there',
    ],
    [
      patternOf(signatureKey('MERCHANT', DAY)),
      'with `DAYBOOK_SIGNING_KEY`: the manifest’s signature, for `daybook verify --public-key` and `minisign -V`',
    ],
    [
      closePattern(closeKey('MERCHANT', '2026-03', 1)),
      'a close of a merchant’s month: the frozen list of its statements. With `DAYBOOK_SIGNING_KEY` its signature lies next to it, under this name with `.minisig`',
    ],
    [STORE_MARK_KEY, 'the mark: which database the statements belong to'],
  ].map(([key, what]) => [code(key!), what!]);

/** Each name with what it means. Throws where one has no meaning, or a meaning has no such name. */
export function withMeanings(names: readonly string[], meanings: Meanings): string[] {
  const unused = Object.keys(meanings).filter((name) => !names.includes(name));
  if (unused.length > 0) throw new Error(`no file has ${unused.join(', ')}: take the meaning out`);
  return names.map((name) => {
    const meaning = meanings[name];
    if (meaning === undefined) throw new Error(`say in file-meanings.ts what ${name} means`);
    return meaning;
  });
}

function columnTable(columns: readonly string[], meanings: Meanings): string {
  const said = withMeanings(columns, meanings);
  return table(
    ['column', 'what it holds'],
    columns.map((column, index) => [code(column), cell(said[index]!)]),
  );
}

const headerOf = (csv: string): string[] => csv.split('\r\n')[0]!.split(',');

/** A field of a JSON document. */
export interface Field {
  /** `statements[].superseded[].file`. */
  readonly path: string;
  readonly type: string;
  readonly isAlways: boolean;
}

/** Every field of a document, outer ones first. */
export const fieldsOf = ({ fields = {}, isList }: Shape<unknown>, above = ''): Field[] =>
  Object.entries(fields).flatMap(([name, shape]) => {
    const path = [above + (isList === true ? '[]' : ''), name].filter((part) => part !== '').join('.');
    return [{ path, type: shape.type, isAlways: shape.isOptional !== true }, ...fieldsOf(shape, path)];
  });

function manifestTable(): string {
  const fields = fieldsOf(manifestShape);
  const said = withMeanings(
    fields.map(({ path }) => path),
    MANIFEST_MEANINGS,
  );
  return table(
    ['field', 'type', 'always', 'what it holds'],
    fields.map(({ path, type, isAlways }, index) => [
      code(path),
      type,
      isAlways ? 'yes' : 'no',
      cell(said[index]!),
    ]),
  );
}

/** One of everything that the file can hold, for the names of its fields. */
const CLOSE: CloseFile = {
  format: 'daybook-close/1',
  ...{ merchantNo: '', month: '', number: 2, closedAt: '', by: '', note: null, despite: null },
  prepared: { by: '', at: '', note: null },
  reopened: { by: '', at: '', note: '' },
  previous: { number: 1, sha256: '' },
  accounts: [
    {
      ...{ currency: '', opening: null, creditTotal: '', creditCount: 0, debitTotal: '', debitCount: 0 },
      ...{ closing: null, missingNet: null, days: 0, daysBroken: 0, breaks: 0, explained: 0 },
    },
  ],
  statements: [
    {
      ...{ currency: '', day: '', revision: 1, file: '', sha256: '', opening: '' },
      ...{ creditTotal: '', creditCount: 0, debitTotal: '', debitCount: 0, closing: '' },
      ...{ verdict: 'broken', breaks: 1, explained: [7] },
    },
  ],
  adjustments: [{ currency: '', day: '', frozenRevision: null, revision: 2, reason: null }],
  openDays: [{ currency: '', day: '', cause: 'broken' }],
};

/** Every field of a document, outer ones first. */
function namesIn(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return namesIn(value[0], `${path}[]`);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const own = path === '' ? name : `${path}.${name}`;
    return [own, ...namesIn(inner, own)];
  });
}

function closeTable(): string {
  const names = namesIn(JSON.parse(closeText(CLOSE)));
  const said = withMeanings(names, CLOSE_MEANINGS);
  return table(
    ['field', 'what it holds'],
    names.map((name, index) => [code(name), cell(said[index]!)]),
  );
}

function objectStoreSections(): string[] {
  const summary = headerOf(summaryCsv([]));
  const explained = headerOf(summaryCsv([], new Map([['CCC', []]])));
  return [
    '## The object store',
    'Below `STATEMENTS_URL`, an S3 bucket or a folder. `{merchantNo}` and `{CCC}` are percent-encoded: letters, digits, `-`, ' +
      '`_` and dots stay, except dots at the start. A number that is longer than 129 characters then is `=` and four hex digits for ' +
      'each of its UTF-16 units. The folder has to be on a file system that knows capitals from small letters where two ' +
      'merchants differ by these alone.',
    table(['key', 'what it is'], keyRows()),
    'A published revision is never overwritten; `{N}` counts from 1, and summaries count apart from statements. A file still ' +
      'being written has a name in a folder that starts with a dot and ends with `.part`, and in S3 is an unfinished upload: ' +
      'a later run removes both; do not read them.',
    '## Statement',
    'CSV by RFC 4180: UTF-8 without BOM, lines end with CRLF, a header line first, cells quoted where they hold a comma, a ' +
      'quote or a line’s end. Rows stand in the order of the balance chain. Amounts are plain decimals with a dot and without ' +
      'grouping, with the decimals of the currency, and more only where the platform sent more. No cell is altered. A day ' +
      'without entries has only the header line.',
    columnTable(
      STATEMENT_COLUMNS.map(({ name }) => name),
      Object.fromEntries(STATEMENT_COLUMNS.map(({ name, meaning }) => [name, meaning])),
    ),
    'A later version may add columns behind these. The manifest names the columns that each file has.',
    'With `DAYBOOK_STATEMENT_FORMATS` the same statement lies next to it in other formats, under the same name with another ' +
      'ending: see [Formats next to the CSV](#formats-next-to-the-csv).',
    '## Summary',
    'CSV of the same kind, a line for each currency, sorted by currency.',
    columnTable(summary, SUMMARY_MEANINGS),
    'On a day with a break that a person resolved, behind these:',
    columnTable(explained.slice(summary.length), EXPLAINED_MEANINGS),
    'On a day of which entries could not be read when its statements were published, behind all others:',
    columnTable([UNREADABLE_COLUMN], UNREADABLE_MEANINGS),
    'On a day with rows that do not lead from the opening to the closing, as entries of a neighbouring day lie among them, behind ' +
      'all others:',
    columnTable([...OVER_MIDNIGHT_COLUMNS], OVER_MIDNIGHT_MEANINGS),
    '## Manifest',
    'JSON, indented by two spaces. A later version may add fields. Times are ISO 8601 in UTC.',
    manifestTable(),
    'Rule: either `opening` equals the `closing` of the statement named by `previousDay`, or `openingDerived` is true.',
    '## A close',
    'JSON, indented by two spaces, never changed. `daybook close` makes the next one, which refers to the previous close.',
    closeTable(),
    '## The mark',
    `\`${STORE_MARK_KEY}\` names the one database that may publish here, since when, and the turn of its last run: a copy of the database that did not take it is refused. \`daybook statements adopt\` writes it anew.`,
    block(
      'json',
      markContent(
        '00000000-0000-4000-8000-000000000000',
        `${DAY}T00:00:00.000Z`,
        '00000000-0000-4000-8000-000000000001',
      ).toString(),
    ),
  ];
}

const whenMade = ({ name, canBePublished }: StatementFormat): string => {
  if (name === CSV.name) return 'published';
  return canBePublished
    ? 'published if `DAYBOOK_STATEMENT_FORMATS` names it, else made for the download'
    : 'made for the download';
};

const formatRows = (): string[][] =>
  STATEMENT_FORMATS.map((format) => [
    code(format.name),
    code(patternOf(nameIn(format, fileOf(STATEMENT_KEY)))),
    code(format.contentType),
    whenMade(format),
  ]);

const monthFormatRows = (): string[][] =>
  MONTH_FORMATS.map((format) => [
    code(format.name),
    code(`month-{YYYY-MM}-{merchantNo}.${format.extension}`),
    code(format.contentType),
    'made for the download',
  ]);

const downloadSections = (): string[] => {
  const file = fileOf(STATEMENT_KEY);
  return [
    '## Downloads',
    '`daybook statements get` puts files where `--out` says:',
    table(
      ['file', 'what it is'],
      [
        [patternOf(file), 'the statement, as it was published; with `--format` another ending'],
        [patternOf(manifestFileNextTo(file)), 'the day’s manifest, for `daybook verify`'],
        [patternOf(manifestFileNextTo(file)) + SIGNATURE_EXTENSION, 'its signature, where it is signed'],
        [
          patternOf(file).replace(/\.csv$/, '.spreadsheet.csv'),
          'with `--for-spreadsheet`: text cells that start with `=`, `+`, `-`, `@`, tab or CR lead with an apostrophe, also where the sign is full-width or stands behind blanks and hidden characters; amounts stay as they are',
        ],
        [
          'statements-{YYYY-MM}.zip, statements-{YYYY-MM}-{merchantNo}.zip',
          'with `--month`: of all merchants that were asked for, or of one',
        ],
        [
          'month-{YYYY-MM}-{merchantNo}_{CCC}.csv, month-{YYYY-MM}-{merchantNo}.xlsx',
          'with `--month` and `--format`: an account’s month as one file, or a merchant’s as a workbook: see [A month as one file](#a-month-as-one-file)',
        ],
      ].map(([name, what]) => [name!.split(', ').map(code).join(', '), what!]),
    ),
    '`--format NAME` chooses among these:',
    table(['format', 'file', 'content type', 'when it is made'], [...formatRows(), ...monthFormatRows()]),
    'The ZIP of a month holds every current statement, summary, manifest and signature under its key of the object store, and ' +
      '`month-{YYYY-MM}.csv`, one line for each account; of a closed month also its closes. With `--currency` alone there are no summaries, and the manifest lies next to each ' +
      `statement under the name \`${patternOf(manifestFileNextTo(file))}\`.`,
    'With `--format` other than `csv` and `workbook` the ZIP holds the statements in that format and `month-{YYYY-MM}.csv`. A file that was published in the ' +
      'format has the manifest of its day next to it, under the same name as with `--currency`, and `daybook verify` checks it. A ' +
      'file that was made for the download has none, as no manifest names it: `daybook verify` says so of each of them. Without ' +
      '`--format`, or with `csv`, the ZIP also holds each day’s files in the other formats that were published.',
    columnTable(headerOf(monthCsv(monthOf('2026-03')!, [])), MONTH_MEANINGS),
  ];
};

const dataFolderSections = (): string[] => [
  '## The data folder',
  '`DAYBOOK_DATA_DIR`. It is made on first use, for its owner alone; one that others may open is refused.',
  table(
    ['file', 'what it is'],
    [
      [
        code('db'),
        'the embedded database, where no `DATABASE_URL` is set. Its files are PostgreSQL’s own: back up or move the complete folder while nothing runs',
      ],
      [
        `${code('db.lock')}, ${code('db.lock-journal')}`,
        'locked while a process has the embedded database open. Nothing to read',
      ],
      [code('db.holder'), 'which process that is or was, `host:pid:boot`, and below it the command'],
      [code('statements'), 'the object store, where no `STATEMENTS_URL` is set'],
    ],
  ),
  '`npm start` and `npm run demo:onboarding` put a settings file and a data folder of their own into `.daybook`.',
];

/** docs/reference/files.md, before formatting. */
export const filesPage = (): string =>
  [
    ...['# Files', MADE_BY, ...objectStoreSections(), ...downloadSections()],
    ...['## Formats next to the CSV', ...formatSections(), ...dataFolderSections()],
  ].join('\n\n');
