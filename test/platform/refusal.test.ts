/** What counts as a refusal, in every layer of a reply, and what is data in spite of its name. */
import { describe, expect, test } from 'vitest';
import { createSuccessCheck, SUCCESS_CODES } from '../../src/ledger/success-codes.ts';
import { refusalIn, layersOf } from '../../src/platform/reply.ts';

const refusalOf = (reply: unknown, codes: readonly string[] = SUCCESS_CODES): string | null =>
  refusalIn(
    layersOf(typeof reply === 'string' ? reply : JSON.stringify(reply), ['list']),
    createSuccessCheck(codes),
  );
const PAGE = { pageNum: 1, pageSize: 100, total: 0, list: [] };

describe('a refusal', () => {
  test.each<[string, unknown, string]>([
    ['a code beside the page', { respCode: 'E99999', respMsg: 'system busy', ...PAGE }, 'respCode'],
    ['a code inside data', { data: { respCode: 'E99999', ...PAGE } }, 'respCode'],
    ['a code around data', { code: 'E99999', data: PAGE }, 'code'],
    ['a code under a success of the envelope', { code: '200', data: { retCode: '9', ...PAGE } }, 'retCode'],
    ['a number', { code: 500, data: PAGE }, 'code'],
    ['a status', { status: 'FAIL', ...PAGE }, 'status'],
    ['a result', { result: 'FAILURE', ...PAGE }, 'result'],
    ['a flag', { success: false, ...PAGE }, 'success'],
    ['a flag as text', { isSuccess: 'N', ...PAGE }, 'isSuccess'],
    ['a flag of 0', { success: 0, ...PAGE }, 'success'],
    ['a flag of 0 as text', { ok: '0', ...PAGE }, 'ok'],
    ['a failure of yes', { failed: 'true', ...PAGE }, 'failed'],
    ['an error of 1', { error: 1, ...PAGE }, 'error'],
    ['a sentence about an error', { errorMsg: 'system busy', ...PAGE }, 'errorMsg'],
    ['a status by a longer name', { header: { retStatus: 'F' }, body: PAGE }, 'retStatus'],
    ['another status by a longer name', { rspStatus: 'FAIL', ...PAGE }, 'rspStatus'],
    ['a flag by a longer name', { successFlag: false, ...PAGE }, 'successFlag'],
    ['a flag of a result', { resultFlag: 'F', ...PAGE }, 'resultFlag'],
    ['a flag alone', { flag: false, ...PAGE }, 'flag'],
    ['a flag cut short', { succ: 'N', ...PAGE }, 'succ'],
    ['a flag of errors', { hasError: true, ...PAGE }, 'hasError'],
    ['a code in a header', { head: { rspCd: 'E1' }, body: PAGE }, 'rspCd'],
    ['an error', { error: 'busy', ...PAGE }, 'error'],
    ['an error object', { error: { text: 'busy' }, ...PAGE }, 'error'],
    ['a list of errors', { errors: ['busy'], ...PAGE }, 'errors'],
    ['other spelling', { RESP_CODE: 'E1', ...PAGE }, 'RESP_CODE'],
    ['a list of one', [{ respCode: 'E1', ...PAGE }], 'respCode'],
    ['JSON as text', { data: JSON.stringify({ respCode: 'E1', ...PAGE }) }, 'respCode'],
    ['an S code that the document does not have', { respCode: 'S99999', ...PAGE }, 'respCode'],
  ])('is read from %s', (_, reply, field) => {
    expect(refusalOf(reply)).toBe(field);
  });

  test.each<[string, unknown]>([
    ['a page alone', PAGE],
    ['codes of success', { respCode: 'S00000', code: 0, status: 'success', success: true, data: PAGE }],
    ['zeros', { code: '0000', data: PAGE }],
    ['no error', { error: null, errors: [], err: '', failed: false, errorCode: '0', ...PAGE }],
    ['a flag of 1', { success: 1, ok: '1', successFlag: 'Y', ...PAGE }],
    ['statuses and flags of success', { retStatus: 'S', rspState: '0', flag: true, ...PAGE }],
    ['words for no error', { errMsg: 'OK', error_message: '', hasError: 'false', errors: {}, ...PAGE }],
    ['a message', { message: 'E99999', ...PAGE }],
    ['an envelope by the name of an outcome', { result: PAGE, state: [] }],
    ['a single entry with fields of such names', { ...PAGE, list: [{ code: 'E1', status: 'FAIL' }] }],
  ])('is not read from %s', (_, reply) => {
    expect(refusalOf(reply)).toBeNull();
  });

  test('is what the settings do not list, whatever its case', () => {
    expect(refusalOf({ status: '1', ...PAGE })).toBe('status');
    expect(refusalOf({ status: '1', ...PAGE }, ['1'])).toBeNull();
    expect(refusalOf({ status: 'Done', ...PAGE }, ['DONE'])).toBeNull();
    expect(refusalOf({ code: 'S00000', ...PAGE }, ['1'])).toBe('code');
  });
});
