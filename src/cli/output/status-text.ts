/**
 * Tells a person the status of merchants. Of very many merchants it shows totals, and those that have something to say;
 * it takes their statuses one part after the other and keeps only what it shows.
 */
import type { MerchantStatus } from '../../run/status.ts';
import { CheckedBeyond } from '../../run/status-remarks.ts';
import { First, StatusLists, type StatusList } from '../../run/status-lists.ts';
import { counted, lines, longTable } from './text.ts';
import type { Times } from './times.ts';

/** Up to so many merchants, each has a line. Of more, so many that have something to say. */
const MERCHANTS_SHOWN_MAX = 20;
/** Shown where no merchant has anything to say. */
const FIRST_SHOWN = 5;
const NO_MERCHANT = 'no merchant yet: set PLATFORM_MERCHANT_NO, or add one with `daybook merchants add`';

export interface StatusTextOptions {
  readonly times: Times;
  /** How many statuses will come. */
  readonly merchants: number;
  /** As the person wrote it. */
  readonly maxAge: string | undefined;
  /** Whether each merchant gets a line, however many there are. */
  readonly all: boolean;
}

export class StatusText {
  readonly #options: StatusTextOptions;
  readonly #merchants = new First<MerchantStatus>(FIRST_SHOWN);
  readonly #shown: First<MerchantStatus>;
  readonly #lists: StatusLists;
  readonly #checked = new CheckedBeyond();
  readonly #totals = { neverRead: 0, tooOld: 0, openBreaks: 0, quarantined: 0 };

  constructor(options: StatusTextOptions) {
    this.#options = options;
    this.#lists = new StatusLists(options.times.zone);
    this.#shown = new First(options.all ? Infinity : MERCHANTS_SHOWN_MAX);
  }

  add(statuses: readonly MerchantStatus[]): void {
    for (const status of statuses) {
      const { lastGoodRunAt } = status;
      this.#merchants.add(status);
      if (this.#showsEach || hasSomethingToSay(status)) this.#shown.add(status);
      this.#lists.add(status);
      this.#checked.add(status);
      this.#totals.neverRead += Number(lastGoodRunAt === null);
      this.#totals.tooOld += Number(status.tooOld);
      this.#totals.openBreaks += status.openBreaks;
      this.#totals.quarantined += status.quarantined;
    }
  }

  toString(): string {
    if (this.#options.merchants === 0) return NO_MERCHANT;
    const shown = this.#shown.items.length > 0 ? this.#shown.items : this.#merchants.items;
    return lines(
      !this.#showsEach && this.#totalsText(),
      this.#table(shown),
      !this.#showsEach && this.#restText(shown.length),
      ...this.#checked.lines(),
      ...this.#lists.of(shown).flatMap(listText),
    );
  }

  get #showsEach(): boolean {
    return this.#options.all || this.#options.merchants <= MERCHANTS_SHOWN_MAX;
  }

  #totalsText(): string {
    const { neverRead, tooOld, openBreaks, quarantined } = this.#totals;
    const { maxAge, merchants } = this.#options;
    return lines(
      [
        counted(merchants, 'merchant'),
        `${this.#shown.count.toLocaleString('en')} with something to say`,
        `${neverRead.toLocaleString('en')} never read well`,
        ...(maxAge === undefined ? [] : [`${tooOld.toLocaleString('en')} older than ${maxAge}`]),
        counted(openBreaks, 'open break'),
        counted(quarantined, 'unreadable entry', 'unreadable entries'),
      ].join(', '),
      '',
    );
  }

  /** What the table leaves out, and how to see it. */
  #restText(shown: number): string {
    const rest = this.#shown.count > shown ? this.#shown.count - shown : this.#options.merchants - shown;
    const what = this.#shown.count > shown ? 'more with something to say' : 'more without anything to say';
    return `and ${rest.toLocaleString('en')} ${what}: \`--all\` shows each merchant, \`--merchant NO\` one`;
  }

  #table(shown: readonly MerchantStatus[]): string {
    const { times, maxAge } = this.#options;
    return longTable(
      [
        'merchant',
        'last good run',
        '?proven from',
        'proven through',
        '>open breaks',
        '>quarantined',
        maxAge === undefined ? '' : 'age',
      ],
      shown.map((status) => [
        status.merchantNo,
        status.lastGoodRunAt === null ? 'never' : times.at(status.lastGoodRunAt),
        status.provenFrom ?? 'nothing yet',
        status.provenThrough ?? 'nothing yet',
        status.openBreaks,
        status.quarantined,
        status.tooOld ? `older than ${maxAge ?? ''}` : '',
      ]),
    );
  }
}

/** Whether a person would miss this merchant if its line were left out. */
const hasSomethingToSay = (status: MerchantStatus): boolean =>
  status.lastGoodRunAt === null ||
  status.tooOld ||
  status.openBreaks + status.quarantined > 0 ||
  status.missing.length + status.requested.length + status.notices.length + status.adjustments.length > 0 ||
  status.olderDays?.isHeld === false;

/** After an empty line, a list under its heading. */
const listText = ({ heading, items, more }: StatusList): string[] => [
  `\n${heading}`,
  ...items.map((text) => `  ${text}`),
  ...(more === 0 ? [] : [`  and ${more.toLocaleString('en')} more`]),
];
