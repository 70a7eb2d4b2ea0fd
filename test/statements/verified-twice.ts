/** `verifyPaths` as the tests call it: each folder also goes through the file for auditors, which has to say the same. */
import { expect } from 'vitest';
import { verifyPaths as verify, type VerifyReport } from '../../src/statements/verify.ts';
import { verifyAlone } from '../support/standalone.ts';

/** What `verifyPaths` returns or throws. With more than paths to go by, only that is asked. */
export async function verifyPaths(...args: Parameters<typeof verify>): Promise<VerifyReport> {
  const [paths, ...others] = args;
  if (others.length > 0) return verify(...args);
  const alone = await verifyAlone([...paths, '--json']);
  try {
    const report = await verify(paths);
    expect(JSON.parse(alone.stdout)).toEqual(report);
    expect(alone).toMatchObject({ code: report.problems.length === 0 ? 0 : 3, stderr: '' });
    return report;
  } catch (error) {
    expect(alone).toMatchObject({ code: 2, stderr: `daybook: ${(error as Error).message}\n` });
    throw error;
  }
}
