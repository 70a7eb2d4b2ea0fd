/** Forms of lie: refusals that carry the fields of a page. Whatever else a reply holds, its code, status or flag says no. */
import { pick } from '../books.ts';
import type { Form, Planted, Scene, Setting } from '../form.ts';
import { pageText, type Call, type Lies, type Moment, type Reply } from '../platform.ts';
import { answering, emptied, formOf, isReported, reaches, type Lasting } from './tools.ts';

const plain = formOf('refusals');
const form: typeof plain = (name, lie, plant, more) =>
  plain(name, lie, plant, { ...more, neverBelieved: true });
const SAYS_REFUSED = /refus|rejected|E99999|system busy|\berror\b|does not say success|no success/i;
const TWO_PAGES: Setting = { perDay: [110, 130], currencies: 1, honestDays: 2, nightsAfter: 1 };

/** Adds the fields of a refusal to the text of a page. */
type Envelope = (page: string) => string;
const among =
  (fields: string): Envelope =>
  (page) =>
    `{${fields},${page.slice(1)}`;
const around =
  (fields: string, name: string): Envelope =>
  (page) =>
    `{${fields},"${name}":${page}}`;

const ENVELOPES: Readonly<Record<string, Envelope>> = {
  'resp-code': among('"respCode":"E99999","respMsg":"system busy"'),
  'resp-code-around-data': around('"respCode":"E99999","respMsg":"system busy"', 'data'),
  'resp-code-in-data': (page) => `{"data":${among('"respCode":"E99999","respMsg":"system busy"')(page)}}`,
  'status-fail': among('"status":"FAIL","message":"system busy"'),
  'success-false': among('"success":false,"message":"system busy"'),
  'success-false-around-result': around('"success":false,"errorMsg":"system busy"', 'result'),
  'code-of-digits': among('"code":500,"message":"system busy"'),
  'code-around-data': around('"code":"80001","msg":"system busy"', 'data'),
  'error-code': among('"errorCode":"E99999","errorMessage":"system busy"'),
  'error-object': among('"error":{"code":"E99999","message":"system busy"}'),
  'head-and-body': around('"head":{"respCode":"E99999","respMsg":"system busy"}', 'body'),
  'code-of-success-status-fail': among('"code":"S00000","status":"FAIL","message":"system busy"'),
};

const refused = (reply: Reply, { pageNum }: Call, envelope: Envelope): Reply => ({
  ...reply,
  text: envelope(pageText(reply, pageNum)),
});

/** Refuses some calls. Which page is next to the refusal, `page` decides: an empty one if it is left out. */
const refusing = (
  envelope: Envelope,
  reported: Lasting,
  more: {
    readonly page?: (reply: Reply) => Reply;
    readonly isMeant?: (call: Call, at: Moment) => boolean;
  } = {},
): Lies =>
  answering((reply, call) => refused((more.page ?? emptied)(reply), call, envelope), reported, more.isMeant);

const planted = (lies: Lies): Planted => ({ lies, where: 'everywhere', says: SAYS_REFUSED });
const drawn = ({ random }: Scene): Envelope => pick(random, Object.values(ENVELOPES));

const envelopeForms: readonly Form[] = Object.entries(ENVELOPES).map(([name, envelope]) =>
  form(
    `refused-${name}`,
    `For one night every call is refused, by the envelope of ${name.replaceAll('-', ' ')} beside an empty page.`,
    () => planted(refusing(envelope, 'one night')),
    { mustBeReported: true },
  ),
);

export const refusalForms: readonly Form[] = [
  ...envelopeForms,
  form(
    'refused-two-runs',
    'Two runs in a row every call is refused beside an empty page.',
    (scene) => planted(refusing(drawn(scene), 'two runs')),
    { mustBeReported: true },
  ),
  form(
    'refused-for-good',
    'From one night on every call is refused beside an empty page.',
    (scene) => planted(refusing(drawn(scene), 'for good')),
    { mustBeReported: true },
  ),
  form(
    'refused-from-the-first-reading',
    'Every call is refused beside an empty page, from the first reading on.',
    (scene) => planted(refusing(drawn(scene), 'for good')),
    { mustBeReported: true, setting: { fromTheFirstReading: true } },
  ),
  form(
    'refused-in-the-middle-of-a-run',
    'The first call of a night is answered; from the second on they are refused beside an empty page.',
    (scene) => planted(refusing(drawn(scene), 'one night', { isMeant: ({ nth }) => nth > 0 })),
  ),
  form(
    'refused-days-read-before',
    'Windows that end before the new day are refused beside an empty page.',
    (scene) => {
      const isOld = (call: Call): boolean => !reaches(call, scene.target, scene.zone);
      return planted(refusing(drawn(scene), 'for good', { isMeant: isOld }));
    },
  ),
  form(
    'refused-on-page-two',
    'Page 2 of a day is refused beside an empty page.',
    (scene) =>
      planted(
        refusing(drawn(scene), 'for good', {
          page: (reply) => ({ ...reply, lines: [] }),
          isMeant: ({ pageNum }) => pageNum > 1,
        }),
      ),
    { mustBeReported: true, setting: TWO_PAGES },
  ),
  form(
    'refused-beside-all-entries',
    'Every call is refused, and its true entries stand beside the refusal.',
    (scene) => planted(refusing(drawn(scene), 'for good', { page: (reply) => reply })),
    { mustBeReported: true },
  ),
  form(
    'refused-beside-some-entries',
    'Every call is refused, and half of its entries stand beside the refusal.',
    (scene) =>
      planted(
        refusing(drawn(scene), 'for good', {
          page: ({ lines, ...reply }) => {
            const half = lines.slice(0, Math.floor(lines.length / 2));
            return { ...reply, total: half.length, lines: half };
          },
        }),
      ),
    { mustBeReported: true },
  ),
  form(
    'refused-every-other-night',
    'Every other night all calls are refused beside an empty page.',
    (scene) => planted(refusing(drawn(scene), 'every other night')),
    { mustBeReported: true },
  ),
  form(
    'refused-then-empty',
    'One night all calls are refused beside an empty page; in the next run the same empty page says success.',
    (scene) => {
      const envelope = drawn(scene);
      return planted({
        reply: (reply, call, at) =>
          isReported(at, 'two runs')
            ? at.since === 0
              ? refused(emptied(reply), call, envelope)
              : emptied(reply)
            : reply,
      });
    },
    { mustBeReported: true },
  ),
];
