/** What docs/reference/files.md says of the formats next to CSV: how each spells a statement, and what it cannot hold. */
import { code, table } from './markdown.ts';

const WORKBOOK = [
  [
    '`Summary`',
    'the figures of the day, one below the other, with the balance difference (`missing_net`: closing - (opening + credits - debits), whether explained or not), how many entries could not be read (`unreadable`) and whether the opening is derived from the first entry (`restarted`); every revision up to this one with its reason, a line each',
  ],
  [
    '`{CCC}`',
    'the rows of the CSV under its column names; with more than 1,048,575 of them the next ones are in `{CCC} 2`, `{CCC} 3`, ...',
  ],
  [
    '`Changes`',
    'rows added (`came`), removed (`went`) or changed (`before` and `after`) since the previous revision; up to 10,000, the rest is counted',
  ],
];

const CAMT = [
  ['`GrpHdr/MsgId`, `Stmt/Id`', 'day and revision, currency, and a digest of the merchant number'],
  ['`ElctrncSeqNb`', '`YYYYMMDD` and the revision in three digits or more: 20260331002'],
  ['`CreDtTm`', 'when the revision was published, in UTC'],
  ['`FrToDt`', 'the business day, as times of the platform’s zone'],
  [
    '`Acct/Id/Othr/Id`',
    'merchant number and currency, as readers find an account by its number alone: `10001USD` (or its IBAN: see [Names and references](#names-and-references)). What is longer than 34 ' +
      'characters has `~` and 8 digits of the merchant number’s SHA-256 before the currency',
  ],
  ['`Acct/Ccy`', 'currency code of the account'],
  [
    '`Bal` `OPBD`, `CLBD`',
    'opening and closing, both of the day. They are available balances, though the codes mean booked ones; what is below zero is `DBIT`',
  ],
  [
    '`TxsSummry`',
    'counts and sums of all entries, credits and debits; a sum of more than 18 digits is left out',
  ],
  [
    '`NtryRef`, `AcctSvcrRef`',
    '`batch_no`; one of more than 35 characters, or with one that XML cannot hold, is its first 26, `~`, and 8 digits of its SHA-256',
  ],
  ['`BookgDt`, `ValDt`', 'the day of `booked_at`: the platform names one time, which stands for both'],
  ['`BkTxCd/Prtry/Cd`', '`transaction_type`, shortened like `batch_no`; `NTAV` where it is empty'],
  ['`RmtInf/Ustrd`', '`transaction_type` and `batch_no`, uncut, in pieces of 140 characters'],
  ['`RltdDts/TxDtTm`', '`booked_at`, a time of the platform’s zone'],
  [
    '`AddtlStmtInf`',
    'revision, verdict, number of breaks and how many of these lie after the day’s last entry, the balance difference, the name and SHA-256 of the CSV, ' +
      'and of a later revision the `Id` of the statement that it replaces, and why',
  ],
];

const MT940 = [
  ['`:20:`', '`YYMMDD`, currency, `R` and the revision'],
  [
    '`:25:`',
    'merchant number and currency: `10001USD`. A merchant number that holds other characters than those of SWIFT, or makes more ' +
      'than 35 with the currency, has `+` and 8 digits of its SHA-256 before the currency',
  ],
  [
    '`:28C:`',
    'day of the year (three digits) and revision (two; from 100 on it is 99), `/`, number of the message',
  ],
  [
    '`:60F:`',
    'the opening, dated the previous day; if carried forward, it equals the previous day’s `:62F:`',
  ],
  [
    '`:61:`',
    'an entry: day twice, `C` or `D`, amount, `NMSC`, `NONREF//` and `batch_no`; one that does not fit (16 characters, those of SWIFT) is its first 7 letters and digits, `.`, and 8 digits of its SHA-256',
  ],
  [
    '`:86:`',
    '`batch_no`, time of day and `transaction_type`, in lines of 65 characters; what is longer than 385 is cut and ends with `...`',
  ],
  ['`:62M:`, `:60M:`', 'the balance carried from one message to the next'],
  [
    '`:62F:`, `:86:`',
    'the closing; then revision, verdict, number of breaks and how many of these lie after the day’s last entry, the balance difference, how many entries ' +
      'had texts to be spelled otherwise, and of a later revision which one it replaces, and why',
  ],
  ['`-`', 'the end of a message'],
];

const CHANGES = [
  [
    'name',
    'merchant, currency, day, and both revisions: `10001_USD_2026-03-31.r1-r3.csv`. `r0` is a day that had no statement when the month was closed. The same two ' +
      'revisions give the same name and, but for [names and references](#names-and-references), the same content, so an importer can refuse a second import by it',
  ],
  [
    'CSV',
    'the columns of the later revision and `change`: `added` or `reversed`. A reversal has its amount on the other side, so `credit` and `debit` add up ' +
      'also for a program that does not read `change`; `balance` is that of the entry taken back',
  ],
  [
    'camt.053',
    'a reversal has `RvslInd` true and the other `CdtDbtInd`: that of a credit is `DBIT`. `MsgId` and `Stmt/Id` are those of the later revision with `-S` and the earlier one ' +
      'at the end; a longer one than 35 characters ends with a digest. `TxsSummry` is of these entries',
  ],
  [
    'MT940',
    '`:61:` has `RC` for the reversal of a credit, which is a debit, and `RD` for that of a debit. `:20:` has `S` and the earlier revision at the end; one ' +
      'that does not fit ends with a digest. `:60F:` is of the day itself',
  ],
  [
    'balances',
    'from the closing of the earlier revision to the closing of the later one. Where the opening changed, as an earlier day did, they differ by more than these entries: ' +
      'the last text of the file says by how much',
  ],
];

const PDF = [
  [
    'Merchant, business day',
    'whose day it is, with the zone that `booked_at` is in; revision, when it was published, and why',
  ],
  ['Figures', 'opening, credits and debits with their counts, closing'],
  [
    'Verdict',
    'continuous, reordered or broken, in words; the balance difference; how many breaks lie after the day’s last entry; whether the opening was derived',
  ],
  ['Proof', 'name and SHA-256 of the CSV'],
  ['Prepared by, approved by', 'lines for name, date and signature, on the page of the figures'],
  ['Earlier revisions', 'the latest 20, each with reason, CSV and its SHA-256'],
  ['What changed', 'the first 100 rows added (`came`), removed (`went`) or changed (`before` and `after`)'],
  [
    'Entries',
    'the first 1,000 in the order of the CSV, with a line wherever a balance does not carry forward; how many more entries and breaks the CSV has',
  ],
];

const MONTH_PDF = [
  [
    'Accounts',
    'opening, credits, debits and closing of the month; how many days are published, how many have the verdict broken (resolved or not), and how many are open',
  ],
  ['Verdict', 'whether every day is published and proven; the balance difference of an account'],
  [
    'Close',
    'number, time, by whom, note, reason for closing despite open days, file and its SHA-256; whether it was adjusted since',
  ],
  ['Prepared by, approved by', 'lines for name, date and signature'],
  ['Days still open, adjustments', 'which and why'],
  [
    'Days of each account',
    'revision, verdict, breaks that a person explained, figures, and the SHA-256 of the CSV',
  ],
];

const ACCOUNT_MONTH = [
  ['name', '`month-{YYYY-MM}-{merchantNo}_{CCC}` with the ending of the format'],
  [
    'CSV',
    'the header once, then the rows of all days. A day that was published with fewer columns has empty cells',
  ],
  [
    'camt.053',
    'one `Stmt`. `FrToDt`, `OPBD` and `CLBD` are from the first published day to the last one. `ElctrncSeqNb` is `YYYYMM00` and the sum of the ' +
      'daily revisions, so it grows with each new statement; `MsgId` and `Stmt/Id` begin with it. `CreDtTm` is when the latest statement was published',
  ],
  [
    'MT940',
    '`:20:` has `YYMM`, currency, `R` and the sum of the daily revisions; `:28C:` has 4, the month and that sum (from 100 on it is 99). `:60F:` is ' +
      'dated the day before the first published day, `:62F:` the last one',
  ],
  [
    '`AddtlStmtInf`, the last `:86:`',
    'the revision of each day: `month 2026-03 of the daily revisions 01-04 r1, 05 r2`; then verdict, breaks and the balance difference of the month',
  ],
];

const MONTH_WORKBOOK = [
  [
    '`Overview`',
    'a line for each account: opening, credits, debits, expected closing, closing, the difference (`missing_net`), what of it resolved breaks ' +
      'explain, what is unexplained; the day through which the account is verified; days published, of how many, and those still open; open breaks',
  ],
  [
    'the currency, like `USD`',
    'the rows of all days; more than fit on a sheet go on on the next one, `USD 2`',
  ],
  [
    '`Breaks`',
    'open and resolved breaks of the month’s days, up to 10,000: amount, balances, entries, cause, who resolved it and when, note',
  ],
  [
    '`Changes`',
    'each revision that replaced another one: day, when it was published, why, and how many entries it added, removed and changed',
  ],
];

const NAMES = [
  [
    '`xlsx`, of a day',
    '`Summary`: `merchant_name`, `merchant_reference`, `account_name`, `iban` and `ledger_account`, below number and currency',
  ],
  [
    '`workbook`',
    '`Overview`: `account_name`, `iban` and `ledger_account` behind the other columns; `merchant_name` and `merchant_reference` below `merchant_no`',
  ],
  [
    '`pdf`, of a day and of a month',
    'below the number. Characters that the fonts lack are spelled in Latin letters: `支付` is `ZhiFu`',
  ],
  [
    '`camt053`',
    '`Acct/Nm` is the name of the account (its first 70 characters), `Acct/Ownr/Nm` that of the merchant, and `Acct/Ownr/Id/OrgId/Othr/Id` its reference. **The IBAN takes ' +
      'the place of merchant number and currency:** it is `Acct/Id/IBAN` where its check digits hold (remainder by 97), else `Acct/Id/Othr/Id`',
  ],
  ['`mt940`', 'none. `:25:` stays merchant number and currency, as importers find the account by it'],
  ['`csv`, `spreadsheet`, `month-{YYYY-MM}.csv`', 'none'],
];

const LIMITS = [
  [code('csv'), 'every day', 'flat'],
  [
    code('xlsx'),
    'every day; a text is cut after 32,767 characters, which the platform does not send',
    'flat',
  ],
  [
    code('camt053'),
    'amounts of up to 18 digits, and as many decimals as ISO 4217 gives the currency; of a currency for which it gives none, up to 5; no balances after each entry',
    'flat',
  ],
  [
    code('mt940'),
    'amounts of up to 15 characters with their comma, and as many decimals as ISO 4217 gives the currency; 99,999 messages, which is some 400,000 entries with the longest texts and 1,500,000 with short ones; no balances after each entry',
    'flat',
  ],
  [
    code('pdf'),
    'every day; the first 1,000 entries, 100 changed rows and 20 earlier revisions are listed, the rest is counted',
    'flat',
  ],
];

export const formatSections = (): string[] => [
  '### Workbooks (`xlsx`)',
  table(['sheet', 'what it holds'], WORKBOOK),
  'The first row of each sheet stays in sight, and is on every page in print: A4 across, as wide as the columns, with sheet and page number at the foot. `batch_no` and other texts are text, whatever they look like: nothing is computed. ' +
    '`booked_at` is a date with its time, in the platform’s zone; `published_at` is text: the same zone with its offset (`2026-04-01 10:00:00 +08:00`). Amounts are numbers with the ' +
    'decimals of the CSV; one of more than 15 digits is text on yellow, as a spreadsheet would round it. Characters that XML ' +
    'cannot hold are spelled `_x0007_`, which spreadsheets show as the character; those that would turn the direction of writing or ' +
    'not show are spelled `\\u202e`.',
  '### camt.053.001.08 (`camt053`)',
  'One statement, an entry a line. Characters that XML cannot hold become `\ufffd`.',
  table(['element', 'what it holds'], CAMT),
  '### MT940 (`mt940`)',
  'Messages of up to 2,000 characters without headers (blocks 1 and 2), lines ending with CRLF, in the characters of SWIFT (set X). ' +
    'Other texts are spelled with them: `Größe` is `Grosse`, `支付` is `ZhiFu`, `_` is `-`; what is like nothing is a dot.',
  table(['field', 'what it holds'], MT940),
  '**Before importing a later revision, remove the earlier one from the ERP, or import its ' +
    '[changes](#changes-since-a-revision) only; otherwise the day is booked twice.** In camt.053 and ' +
    'MT940 a later revision is a statement of its own, with its own number.',
  '### PDF (`pdf`)',
  'Pages of A4 in English, to read, sign and file. Every digit of an amount is there, with commas between thousands. Instants are ' +
    'in the zone of the business day, with its offset. Characters that the fonts lack are spelled out as JSON does: `支付` is `\\u652f\\u4ed8`. Invisible ' +
    'spaces are spelled out too.',
  table(['part', 'what it holds'], PDF),
  'The month statement as PDF, to sign, is `month-YYYY-MM-MERCHANT.pdf`: it comes before the merchant’s statements in the month’s ZIP in this format, and is a download of the pages. ' +
    'It is made for the download from the current state, and never published. Its times are in the zone of the business days, with its offset.',
  table(['part', 'what it holds'], MONTH_PDF),
  '### A month as one file',
  '`daybook statements get --month M --merchant NO --currency CCC --format NAME` with `csv`, `camt053` or `mt940` gives one file of the account’s ' +
    'month, as the page of the month does. It has the current revision of each published day, in the order of the days; the command names ' +
    'revisions and open days. Without `--format`, with several accounts, or with `--out` ending with `.zip` it is a ZIP of daily files.',
  table(['part', 'what it holds'], ACCOUNT_MONTH),
  '**Import the month or its days, never both.**',
  '`--month M --merchant NO --format workbook` gives `month-{YYYY-MM}-{merchantNo}.xlsx`, as the page of the month does: all accounts, ' +
    'or those of `--currency`. Cells and print are those of the daily workbook.',
  table(['sheet', 'what it holds'], MONTH_WORKBOOK),
  'These files are made for the download from the current state: no manifest lists them, and `verify` names them as not checked.',
  '### Changes since a revision',
  '`daybook statements get --day D --since REVISION` gives only what changed between the revision that is booked and the current one (or ' +
    '`--revision`), as `csv`, `camt053` or `mt940`. `--month M --since close:N` gives it for each changed day of a closed month, as a ZIP ' +
    'with a list, `changes-{YYYY-MM}.csv`. The entries of the earlier revision and those of this file are the entries of the later one.',
  'An entry that came is there as in the statement. One that is gone is there as its reversal. A changed entry is both, the reversal first; ' +
    'also where only a cell changed that the format does not have. An entry that only changed its place is not there.',
  table(['part', 'what it holds'], CHANGES),
  'Such files are made for the download: no manifest lists them, and `verify` names them as not checked.',
  '### Names and references',
  '`daybook merchants name` and the pages give merchants and accounts display names and own references. A file that is made for a download has those of ' +
    'that time; the same download later may have others. Without names, every file is as it would be if there were no names at all.',
  table(['format', 'where they are'], NAMES),
  '**What is published never has names**, neither CSV, summary, manifest and close nor a format that `DAYBOOK_STATEMENT_FORMATS` publishes: a new name changes no ' +
    'published byte, and a lost file is made again as it was. A download of such a file is the published one, without names. Identifiers of messages and statements ' +
    '(`MsgId`, `Stmt/Id`) and names of files do not depend on names, so an importer can still refuse a second import by them.',
  '### What a format cannot hold',
  'All are written as a stream, a day of a million entries in as little memory as a small one. A download of a day that does ' +
    'not fit ends with exit code 2 and says why. A run publishes the day without the file, says so, and ends with 3.',
  'In a month’s ZIP such a day is the published CSV, under its own key. The last file, `month-{YYYY-MM}-as-csv.txt`, names ' +
    'each such day with the reason. The command says so too, and ends with 3; with `--json` they are in `asCsv`.',
  'Nothing is rounded. Both formats of a bank forbid more decimals than a currency has, and importers refuse or round them: a day ' +
    'with an amount of 10.005 USD does not fit. Zeros that are too many are cut: 10.500 USD is 10.50. ISO 4217 does not list ' +
    'some codes (CNH) and gives others no number of decimals (XAU): their amounts keep the decimals they have, in camt.053 up to 5. ' +
    'Importers that know ISO 4217 alone refuse such a code: `DAYBOOK_BANK_CURRENCIES` names the one that camt.053 and MT940 write ' +
    'instead, for example CNY for CNH. The account keeps its own name, and a note in the file says what is written as what.',
  table(['format', 'holds', 'memory'], LIMITS),
];
