/**
 * Doubts an empty page that carries something next to its own fields: it may be a refusal, in a form that no list of names has.
 * It is asked again in another form, for a longer time that reaches to an entry which is stored. A platform that refuses
 * does not show that entry; one that answers does, and then shows whether the window is empty.
 */
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { cutText } from '../ledger/text.ts';
import { PlatformRejected } from '../platform/errors.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../platform/wire.ts';
import type { Asked } from './certificate.ts';
import { spanText, type PageSource } from './page-source.ts';
import { isIn } from './wide-windows.ts';

/** The stored entry to reach to: the newest one before the end of a window, or else one after it; null if none is stored. */
export type StoredNear = (window: Window) => Promise<Pick<LedgerEntry, 'batchNo' | 'bookedMs'> | null>;

/** How often a window is asked for that came back empty while a longer one shows entries of it. */
const WRONG_MAX = 2;
/** Longest text of a reply's own that is shown. */
const VALUE_CHARACTERS_MAX = 40;

/** The longest window that can be asked for. */
const WIDEST: Window = { beginMs: INSTANT_MS_MIN, endMs: INSTANT_MS_MAX };

/**
 * For one window and its parts: resolves to true if a first page is believed, to false if the window is to be asked for again, as
 * a longer one showed entries of it. Throws `PlatformRejected` if the page is no answer.
 */
export function createDoubtOfEmpty(
  page: PageSource['page'],
  storedNear: StoredNear,
): PageSource['isEmptyBelieved'] {
  let wrong = 0;
  return async (asked, first) => {
    const { extras } = first;
    if (extras === undefined || first.total > 0) return true;
    const { window } = asked;
    const anchor = await storedNear(window);
    const wider = { window: anchor === null ? WIDEST : reaching(window, anchor.bookedMs) };
    const answer = await page(wider, 1);
    const nearest = anchor === null && !isComplete(answer) ? nearestOf(answer, window) : null;
    const near = nearest === null ? answer : await page({ window: reaching(window, nearest) }, 1);
    if (near.entries.some((entry) => isIn(window, entry.bookedMs))) {
      wrong += 1;
      if (wrong < WRONG_MAX) return false;
      throw refusal(asked, first, 'a longer window shows entries of it');
    }
    if (near.entries.length + near.unreadable.length > 0) return true;
    if (anchor === null && extras.saysYes) return true;
    throw refusal(
      asked,
      first,
      anchor === null
        ? 'no window shows an entry, so nothing tells whether it is an answer'
        : `a longer window does not show entry ${anchor.batchNo}, which is stored`,
    );
  };
}

const isComplete = ({ total, entries, unreadable }: LedgerPage): boolean =>
  entries.length + unreadable.length >= total;

const reaching = ({ beginMs, endMs }: Window, ms: number): Window => ({
  beginMs: Math.min(beginMs, ms),
  endMs: Math.max(endMs, ms + 999),
});

const nearestOf = ({ entries }: LedgerPage, { beginMs, endMs }: Window): number | null => {
  const distance = (ms: number): number => Math.max(beginMs - ms, ms - endMs, 0);
  const [nearest] = entries.map(({ bookedMs }) => bookedMs).sort((a, b) => distance(a) - distance(b));
  return nearest ?? null;
};

function refusal(asked: Asked, { extras }: LedgerPage, why: string): PlatformRejected {
  const fields = extras!.fields.map(({ name, value }) => `${shortened(name)}: ${shortened(value)}`);
  return new PlatformRejected(
    `refused: for ${spanText(asked)} the platform sent ${fields.join(', ')} next to an empty page, and ${why}. ` +
      'Where that means success, add the value to PLATFORM_SUCCESS_CODES',
  );
}

const shortened = (text: string): string =>
  text.length <= VALUE_CHARACTERS_MAX ? text : `${cutText(text, VALUE_CHARACTERS_MAX)}…`;
