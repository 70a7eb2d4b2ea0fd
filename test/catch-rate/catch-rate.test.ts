import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { executeRun } from '../../src/run/run.ts';
import { openRig, type Rig } from '../simulation/rig.ts';
import { playClean } from './clean.ts';
import type { Form, Planted } from './form.ts';
import { FORMS } from './forms.ts';
import { judge, playForm, type Outcome, type Product, type Seen } from './play.ts';
import { drawHistory } from './scene.ts';
import { countClean, countOf } from './tally.ts';

const SEED = 2404;
const TIMEOUT_MS = 240_000;
const CLEAN_HISTORIES = 12;

let rigs: Rig[];
beforeAll(async () => {
  rigs = await Promise.all([0, 1, 2].map(() => openRig(inject('postgresUrl'))));
});
afterAll(async () => {
  await Promise.all(rigs.map((rig) => rig.close()));
});

const formNamed = (name: string): Form => FORMS.find((form) => form.name === name)!;

/** Runs `work` on each item, with the next free rig. */
async function onRigs<Item, Result>(
  items: readonly Item[],
  play: (rig: Rig, item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = [...items.entries()].reverse();
  await Promise.all(
    rigs.map(async (rig) => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
        results[next[0]] = await play(rig, next[1]);
    }),
  );
  return results;
}

/** How these end depends on which of several simultaneous calls is answered first. */
const BY_ORDER_OF_CALLS = [
  'mid-run-other-ledger',
  'mid-run-other-ledger-one-night',
  'page-two-of-another-merchant',
];

/** The lowest share, of the lies that are caught, whose form's expected sentence is said. */
const RIGHT_SENTENCE_SHARE = 0.98;
/** The lowest share of those whose first sentence names the cause. */
const FIRST_RIGHT_SHARE = 0.98;

describe('the catch rate', () => {
  test(
    'each form ends as it did: exit codes, reasons, bytes',
    { timeout: TIMEOUT_MS, tags: ['long'] },
    async () => {
      const forms = FORMS.filter(({ sight }) => sight.kind === 'visible');
      const outcomes = await onRigs(forms, (rig, form) => playForm(rig, form, String(SEED)));
      const played = outcomes
        .filter(({ form }) => !BY_ORDER_OF_CALLS.includes(form))
        .map(({ form, ending, runs }) => `${form}: ${ending}\n${runs.join('')}`);
      await expect(played.join('\n')).toMatchFileSnapshot('golden.txt');
      expect(outcomes.filter(({ ending }) => ending === 'silent').map(({ form }) => form)).toEqual([]);
      const caught = outcomes.filter(({ isRightSentence }) => isRightSentence !== null);
      const wronglyTold = caught.filter(({ isRightSentence }) => isRightSentence === false);
      expect(wronglyTold.slice(Math.floor((1 - RIGHT_SENTENCE_SHARE) * caught.length))).toEqual([]);
      const blamed = caught.filter(({ isFirstRight }) => isFirstRight === false);
      const excused = Math.floor((1 - FIRST_RIGHT_SHARE) * caught.length);
      expect(blamed.slice(excused).map(({ form, first }) => `${form}: ${first}`)).toEqual([]);
      expect(outcomes.filter(({ isBelieved }) => isBelieved).map(({ form }) => form)).toEqual([]);
      expect(outcomes.map(({ spoiled }) => spoiled).filter((spoiled) => spoiled !== null)).toEqual([]);
    },
  );

  test(
    'an entry that moved later balances is named before their count',
    { timeout: TIMEOUT_MS },
    async () => {
      const names = ['late-within-busy', 'vanished-within', 'amount-amended-balances-follow'];
      const outcomes = await onRigs(names, (rig, name) => playForm(rig, formNamed(name), String(SEED)));
      expect(outcomes.map(({ first }) => first)).toEqual([
        expect.stringMatching(
          /^M-OWN: late entry A\d+ of [\d-]+, a credit of [\d.]+ [A-Z]{3}, moved \d+ later balances?$/,
        ),
        expect.stringMatching(/^M-OWN: entry A\d+ of .*, vanished and moved \d+ later balances?$/),
        expect.stringMatching(/^M-OWN: amended entry A\d+ of .*, moved \d+ later balances?$/),
      ]);
    },
  );

  test(
    'no statement follows what is never to be believed',
    { timeout: TIMEOUT_MS, tags: ['long'] },
    async () => {
      const never = FORMS.filter(({ neverBelieved }) => neverBelieved);
      const short = never.map((form) => ({
        ...form,
        setting: { perDay: [3, 4] as const, nightsAfter: 1, ...form.setting },
      }));
      const outcomes = await onRigs(short, (rig, form) => playForm(rig, form, String(SEED)));
      expect(
        outcomes
          .filter(({ isBelieved, ending }) => isBelieved || ending === 'silent')
          .map(({ form }) => form),
      ).toEqual([]);
      expect(outcomes.length).toBeGreaterThan(30);
    },
  );

  test('honest histories give no alarm', { timeout: TIMEOUT_MS, tags: ['long'] }, async () => {
    const seeds = Array.from({ length: CLEAN_HISTORIES }, (_, history) => `${SEED}/${history}`);
    const clean = countClean(await onRigs(seeds, (rig, seed) => playClean(rig, seed)));
    expect(clean).toMatchObject({ histories: CLEAN_HISTORIES, alarmed: 0, harmed: 0, sentences: [] });
    expect(clean.entries).toBeGreaterThan(CLEAN_HISTORIES * 20);
  });
});

describe('the harness', () => {
  const mute: Product = async (request, deps) => ({
    ...(await executeRun(request, deps)),
    exitCode: 0,
    reasons: [],
    notes: [],
  });
  const alarmed: Product = async (request, deps) => ({
    ...(await executeRun(request, deps)),
    exitCode: 3,
    reasons: [{ exitCode: 3, what: 'something may be wrong', todo: null }],
  });

  test('counts a run that never reports anything as silent', async () => {
    const form = formNamed('missing-middle');
    const outcome = await playForm(rigs[0]!, form, 'mute', mute);
    expect(outcome).toMatchObject({ ending: 'silent', exitCode: 0, isAtPlace: null, spoiled: null });
    expect(await playForm(rigs[0]!, form, 'mute')).toMatchObject({
      ending: 'same night',
      exitCode: 3,
      isAtPlace: true,
      isRightSentence: true,
    });
  });

  test('counts an alarm on an honest ledger, and one before the lie begins', async () => {
    const { alarms } = await playClean(rigs[0]!, 'alarmed', alarmed);
    expect(alarms).toContain('first reading ended with 3: something may be wrong');
    const outcome = await playForm(rigs[0]!, formNamed('missing-middle'), 'alarmed', alarmed);
    expect(outcome.spoiled).toContain('first reading ended with 3');
  });

  test('finds copy and statements wrong if nothing was read', async () => {
    const idle: Product = (request, deps) => executeRun({ ...request, command: 'reconcile' }, deps);
    expect((await playClean(rigs[0]!, 'idle', idle)).harmed).toBeGreaterThan(0);
  });

  describe('judges', () => {
    const planted: Planted = {
      lies: {},
      where: [{ currency: 'USD', day: '2026-03-04' }],
      says: /entries are missing/,
    };
    const step = (since: number): Seen['step'] => ({
      name: 'night',
      nowMs: 0,
      since,
      night: since,
      range: null,
    });
    const seen = (since: number, change: Partial<Seen> = {}): Seen => ({
      step: step(since),
      exitCode: 0,
      reported: { text: '', first: '', places: [], breaks: 0 },
      isHarmed: false,
      wrongStatements: 0,
      wrongAsContinuous: [],
      revisedUnsaid: false,
      calls: 1,
      report: null,
      sha256: '',
      ...change,
    });
    const reportOf = (day: string, text: string) => ({
      text,
      first: text,
      places: [{ currency: 'USD', day }],
      breaks: 1,
    });
    const A_FORM = { name: 'a form', mustBeReported: false, neverBelieved: false };
    const judgedAs = (form: Partial<typeof A_FORM>, ...runs: Seen[]): Outcome => ({
      seed: '',
      ...judge({ ...A_FORM, ...form }, planted, [seen(-1), ...runs]),
    });
    const judged = (...runs: Seen[]): Outcome => judgedAs({}, ...runs);

    test('a lie caught in its night, at its place and with the right sentence', () => {
      const reported = reportOf('2026-03-04', 'entries are missing');
      expect(judged(seen(0, { exitCode: 3, isHarmed: true, reported }))).toMatchObject({
        ending: 'same night',
        exitCode: 3,
        isAtPlace: true,
        isRightSentence: true,
      });
    });

    test('a lie reported at another place and with another sentence', () => {
      const reported = reportOf('2026-03-05', 'a hold was placed');
      expect(judged(seen(0, { exitCode: 3, reported }))).toMatchObject({
        isAtPlace: false,
        isRightSentence: false,
      });
    });

    test('a lie caught only after something wrong was published', () => {
      expect(judged(seen(0, { isHarmed: true }), seen(2, { exitCode: 4 }))).toMatchObject({
        ending: 'later',
        nights: 2,
        exitCode: 4,
      });
    });

    test('a lie as silent if data was wrong and later right without a report, and as harmless if data never was wrong', () => {
      expect(judged(seen(0, { isHarmed: true }), seen(1))).toMatchObject({
        ending: 'silent',
        isMendedUnsaid: true,
      });
      expect(judged(seen(0), seen(1))).toMatchObject({ ending: 'harmless', isMendedUnsaid: false });
    });

    test('a lie whose first sentence names another cause', () => {
      const reported = {
        ...reportOf('2026-03-04', 'a hold was placed\nentries are missing'),
        first: 'a hold was placed',
      };
      expect(judged(seen(0, { exitCode: 3, reported }))).toMatchObject({
        isRightSentence: true,
        isFirstRight: false,
      });
    });

    test('a lie that does no harm as silent if it must be told', () => {
      expect(judgedAs({ mustBeReported: true }, seen(0), seen(1))).toMatchObject({ ending: 'silent' });
    });

    test('a lie as believed if statements followed it after it was told', () => {
      const runs = [seen(0, { exitCode: 4 }), seen(1, { exitCode: 3, isHarmed: true, wrongStatements: 2 })];
      expect(judgedAs({ neverBelieved: true }, ...runs)).toMatchObject({
        ending: 'same night',
        isBelieved: true,
      });
      expect(judged(...runs)).toMatchObject({ isBelieved: false });
    });

    test('and counts each of these', () => {
      const outcomes = [
        judged(seen(0, { exitCode: 3, reported: reportOf('2026-03-04', 'entries are missing') })),
        judged(seen(0, { exitCode: 4, reported: reportOf('2026-03-09', '') })),
        judged(seen(0, { isHarmed: true, wrongAsContinuous: ['2026-03-04'], revisedUnsaid: true })),
      ];
      expect(countOf(outcomes)).toEqual({
        histories: 3,
        endings: { 'same night': 2, later: 0, silent: 1, harmless: 0 },
        nightsMax: 0,
        caught: 2,
        atPlace: 1,
        rightSentence: 1,
        firstRight: 1,
        believed: 0,
        wrongAsContinuous: 1,
        revisedUnsaid: 1,
        mendedUnsaid: 0,
        spoiled: 0,
        exitCodes: new Map([
          [0, 1],
          [3, 1],
          [4, 1],
        ]),
      });
    });
  });

  test('has one name and an expected sentence per form, and draws the same lie from the same seed', () => {
    expect(new Set(FORMS.map(({ name }) => name)).size).toBe(FORMS.length);
    for (const form of FORMS) {
      const [one, again] = [0, 1].map(() => {
        const drawn = drawHistory(form.setting, `${SEED}/${form.name}`);
        const { where, says, first = says } = form.plant(drawn.scene);
        for (const text of ['', 'the run ended with 3'])
          expect(says.test(text) || first.test(text)).toBe(false);
        return { books: drawn.scene.books, steps: drawn.steps, where, says: says.source };
      });
      expect(one).toEqual(again);
    }
  });
});
