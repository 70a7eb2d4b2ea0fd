/** `verifyPaths` as the tests call it: each folder also goes through the file for auditors, which has to say the same. */
import { expect } from 'vitest';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { verifyPaths as verify, type VerifyReport } from '../../src/verify/verify.ts';
import { verifyAlone } from '../support/standalone.ts';

/** What `verifyPaths` returns or throws. The file for auditors reads the published formats only, so others are not asked of it. */
export async function verifyPaths(...args: Parameters<typeof verify>): Promise<VerifyReport> {
  const [paths, formats = STATEMENT_FORMATS, publicKeys = [], isComplete = false] = args;
  if (formats !== STATEMENT_FORMATS) return verify(...args);
  const keys = publicKeys.flatMap((key) => ['--public-key', key.text]);
  const alone = await verifyAlone([...paths, ...keys, ...(isComplete ? ['--whole'] : []), '--json']);
  try {
    const report = await verify(...args);
    expect(JSON.parse(alone.stdout)).toEqual(report);
    expect(alone).toMatchObject({ code: report.problems.length === 0 ? 0 : 3, stderr: '' });
    return report;
  } catch (error) {
    expect(alone).toMatchObject({ code: 2, stderr: `daybook: ${(error as Error).message}\n` });
    throw error;
  }
}
