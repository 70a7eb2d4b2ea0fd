import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  judgeRegistration,
  readRegistrationResult,
  type RegistrationState,
} from '../../../../src/plugins/submissions/results.ts';
import {
  identityOf,
  judgeApplication,
  readApplicationResult,
  type ApplicationResult,
} from '../../../../src/plugins/submissions/results.ts';
import type { JudgedApplication } from '../../../../src/plugins/submissions/applications.ts';

const approval = {
  bizFlow: 'BF1',
  merOrderNo: 'A1',
  code: 'S00000',
  message: 'Success',
  merchantNo: 'M2001',
  merNameEn: 'Acme Ltd',
  token: 'tok-first',
};
const supplement = {
  ...approval,
  code: '80000',
  message: '{"reason":"licence expired","fields":["certificate"]}',
  merchantNo: '',
  token: '',
};
const rejection = { ...supplement, code: 'E00017', message: '{"reason":"no"}' };

const read = (payload: object): ApplicationResult => {
  const { result, problem } = readApplicationResult(JSON.stringify(payload));
  if (result === null) throw new Error(problem);
  return result;
};

describe('reading an application’s result (6.1)', () => {
  it('accepts everything the document shows, and additional fields', () => {
    expect(read({ ...approval, reviewer: 'x', processVersion: 'V2' })).toEqual({
      bizFlow: 'BF1',
      merOrderNo: 'A1',
      code: 'S00000',
      message: 'Success',
      merchantNo: 'M2001',
      token: 'tok-first',
      merNameEn: 'Acme Ltd',
      processVersion: 'V2',
    });
    const { merOrderNo, merchantNo, token, ...bare } = supplement;
    expect([merOrderNo, merchantNo, token]).toEqual(['A1', '', '']);
    expect(read({ ...bare, token: null })).toEqual({
      bizFlow: 'BF1',
      merOrderNo: null,
      code: '80000',
      message: supplement.message,
      merchantNo: '',
      token: '',
      merNameEn: 'Acme Ltd',
      processVersion: null,
    });
  });

  it.each([
    ['', 'the body is no JSON'],
    ['{"code":"S00000"', 'the body is no JSON'],
    ['base64:AAAA', 'the body is no JSON'],
    ['null', 'the body is no object'],
    ['["S00000"]', 'the body is no object'],
    [{ ...approval, bizFlow: undefined }, 'bizFlow is no string'],
    [{ ...approval, bizFlow: 'B'.repeat(129) }, 'bizFlow is longer than 128, or holds what cannot be shown'],
    [{ ...approval, merOrderNo: { no: 7 } }, 'merOrderNo is no string'],
    [{ ...rejection, code: '' }, 'code is empty'],
    [{ ...approval, token: '' }, 'token is empty, though the application is approved'],
    [{ ...approval, merchantNo: '' }, 'merchantNo is empty, though the application is approved'],
    [
      { ...approval, token: 'two\r\nlines' },
      'token cannot be sent in a header (printable ASCII, up to 512 characters), though the application is approved',
    ],
    [
      { ...approval, merchantNo: 'M'.repeat(33) },
      'merchantNo has 33 characters, more than the 32 of the document',
    ],
    [{ ...approval, merchantNo: 'M\u200b' }, 'merchantNo holds what cannot be shown'],
    [{ ...rejection, token: 'tok' }, 'token is filled, though the application is not approved'],
  ])('%j is malformed: %s', (payload, problem) => {
    const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
    expect(readApplicationResult(body)).toMatchObject({ result: null, problem });
  });

  it.each<[string, string]>([
    ['in data', JSON.stringify({ code: 200, data: approval })],
    ['in a list', JSON.stringify([approval])],
    ['written as text', JSON.stringify({ result: JSON.stringify(approval) })],
    ['after a byte order mark', `\uFEFF${JSON.stringify(approval)}`],
    ['with fields of its own around it', JSON.stringify({ code: 'E1', message: 'x', body: approval })],
  ])('is read the same %s', (_, body) => {
    expect(readApplicationResult(body).result).toEqual(read(approval));
  });

  it('a code and numbers may come as numbers, a message as JSON', () => {
    const body =
      '{"bizFlow":1234567890123456789,"code":80000,"message":{"reason":"expired","fields":["certificate"]}}';
    expect(readApplicationResult(body).result).toMatchObject({
      bizFlow: '1234567890123456789',
      code: '80000',
      message: '{"reason":"expired","fields":["certificate"]}',
    });
    expect(readRegistrationResult('{"data":{"status":4,"payeeId":77}}').result).toMatchObject({
      status: '04',
      payeeId: '77',
    });
  });

  it('whatever comes, the problem shows nothing of it', () => {
    const canary = 'canary-7f3a';
    const value = fc.oneof(fc.constant(canary), fc.constant([canary]), fc.constant({ [canary]: canary }));
    const payloads = fc.record(
      { bizFlow: value, merOrderNo: value, code: value, message: value, merchantNo: value, token: value },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(payloads, (payload) => {
        expect(readApplicationResult(JSON.stringify(payload)).problem ?? '').not.toContain(canary);
        expect(
          readRegistrationResult(JSON.stringify({ status: canary, ...payload })).problem ?? '',
        ).not.toContain(canary);
      }),
    );
  });
});

describe('applying an application’s result (3.2)', () => {
  const standing = (
    state: JudgedApplication['state'],
    bizFlow: string | null = 'BF1',
  ): JudgedApplication => ({ id: 1, merOrderNo: 'A1', bizFlow, state });
  const judged = (
    payload: object,
    where: JudgedApplication,
    applied: readonly object[] = [],
  ): { outcome: string; to?: string } => {
    const { outcome, change } = judgeApplication(
      read(payload),
      where,
      applied.some((earlier) => identityOf(read(earlier)) === identityOf(read(payload))),
    );
    return change === null ? { outcome } : { outcome, to: change.to };
  };

  it('an application under review is approved, sent back or rejected', () => {
    for (const state of ['accepted', 'supplement'] as const) {
      expect(judged(approval, standing(state))).toEqual({ outcome: 'applied', to: 'approved' });
      expect(judged(supplement, standing(state))).toEqual({ outcome: 'applied', to: 'supplement' });
      expect(judged(rejection, standing(state))).toEqual({ outcome: 'applied', to: 'rejected' });
    }
  });

  it('an application with unknown outcome was received after all', () => {
    expect(judged(approval, standing('unknown', null))).toEqual({ outcome: 'applied', to: 'approved' });
  });

  it('for an application whose reply is not stored yet, the result waits', () => {
    expect(judged(approval, standing('submitting', null))).toEqual({ outcome: 'waiting' });
  });

  it('an error during review is not final: the later outcome of the review is the result', () => {
    const rejected = standing('rejected');
    expect(judged(approval, rejected, [rejection])).toEqual({ outcome: 'applied', to: 'approved' });
    expect(judged(supplement, rejected, [rejection])).toEqual({ outcome: 'applied', to: 'supplement' });
    expect(judged(rejection, rejected, [rejection])).toEqual({ outcome: 'duplicate' });
  });

  it('another bizFlow or merOrderNo than ours is a contradiction in every state', () => {
    const states = [
      'submitting',
      'accepted',
      'refused',
      'unknown',
      'approved',
      'supplement',
      'rejected',
    ] as const;
    for (const state of states) {
      expect(judged({ ...approval, bizFlow: 'BF2' }, standing(state))).toEqual({ outcome: 'contradiction' });
      expect(judged({ ...approval, merOrderNo: 'A2' }, standing(state))).toEqual({
        outcome: 'contradiction',
      });
    }
  });

  it('a replay changes nothing, even if the state has changed since', () => {
    const history = [supplement, approval];
    expect(judged(supplement, standing('approved'), history)).toEqual({ outcome: 'duplicate' });
    expect(judged(approval, standing('approved'), history)).toEqual({ outcome: 'duplicate' });
    expect(judged({ ...approval, message: 'ok' }, standing('approved'), history)).toEqual({
      outcome: 'duplicate',
    });
    expect(judged(supplement, standing('supplement'), [supplement])).toEqual({ outcome: 'duplicate' });
  });

  it('after an approval neither another token nor a rejection changes anything', () => {
    const approved = standing('approved');
    expect(judged({ ...approval, token: 'tok-2' }, approved, [approval])).toEqual({
      outcome: 'second-token',
    });
    expect(judged({ ...approval, merchantNo: 'M9' }, approved, [approval])).toEqual({
      outcome: 'second-token',
    });
    expect(judged(rejection, approved, [approval])).toEqual({ outcome: 'contradiction' });
    expect(judged(supplement, approved, [approval])).toEqual({ outcome: 'contradiction' });
    expect(judged(approval, standing('refused', null))).toEqual({ outcome: 'contradiction' });
  });
});

describe('reading and applying a registration’s result (6.2, 3.1)', () => {
  const standing = (
    status: RegistrationState['status'],
    payeeId: string | null = 'P1',
    needsPerson = false,
  ): RegistrationState => ({ merOrderNo: 'R1', bizFlowNo: 'BN1', payeeId, status, needsPerson });
  const judged = (payload: object, where: RegistrationState) => {
    const { result, problem } = readRegistrationResult(JSON.stringify(payload));
    if (result === null) return problem;
    const { outcome, change } = judgeRegistration(result, where);
    return change ?? outcome;
  };

  it('a registration under review is approved or rejected, and gets a missing payeeId', () => {
    expect(judged({ status: '04', payeeId: 'P1', fee: 1 }, standing('01'))).toEqual({
      status: '04',
      payeeId: 'P1',
    });
    expect(judged({ status: '04', payeeId: 'P1' }, standing('01', null))).toEqual({
      status: '04',
      payeeId: 'P1',
    });
    expect(judged({ status: '04', payeeId: 'P1' }, standing('04', null))).toEqual({
      status: '04',
      payeeId: 'P1',
    });
    expect(judged({ status: '03', payeeId: '' }, standing('01'))).toEqual({ status: '03', payeeId: null });
  });

  it('a result ends the doubt about a registration, unless it says otherwise', () => {
    const approved = { status: '04', payeeId: 'P1' };
    expect(judged(approved, standing('sending', null, true))).toEqual(approved);
    expect(judged(approved, standing('04', 'P1', true))).toEqual(approved);
    expect(judged(approved, standing('01', 'P1', true))).toEqual(approved);
    expect(judged({ status: '03' }, standing('04', 'P1', true))).toBe('contradiction');
    expect(judged({ status: '01' }, standing('sending', null, true))).toBe('duplicate');
  });

  it('nothing else changes it', () => {
    expect(judged({ status: '04', payeeId: 'P1' }, standing('sending', null))).toBe('waiting');
    expect(judged({ status: '01' }, standing('01'))).toBe('duplicate');
    expect(judged({ status: '04', payeeId: 'P1' }, standing('04'))).toBe('duplicate');
    expect(judged({ status: '04', payeeId: 'P1' }, standing('refused', null))).toBe('contradiction');
    expect(judged({ status: '03', payeeId: 'P1' }, standing('04', null))).toBe('contradiction');
    expect(judged({ status: '03' }, standing('04'))).toBe('contradiction');
    expect(judged({ status: '01' }, standing('04'))).toBe('contradiction');
    expect(judged({ status: '04' }, standing('03'))).toBe('contradiction');
    expect(judged({ status: '04', payeeId: 'P2' }, standing('01'))).toBe('contradiction');
    expect(judged({ status: '04', merOrderNo: 'R2' }, standing('01'))).toBe('contradiction');
    expect(judged({ status: '04', bizFlowNo: 'BN2' }, standing('01'))).toBe('contradiction');
    expect(judged({ status: '02' }, standing('01'))).toBe('status is none of 01, 03, 04');
    expect(judged({ payeeId: 'P1' }, standing('01'))).toBe('status is none of 01, 03, 04');
    expect(judged({ status: '04', payeeId: true }, standing('01'))).toBe('payeeId is no string');
  });
});
