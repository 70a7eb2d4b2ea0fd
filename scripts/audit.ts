/**
 * `npm run audit`: asks the package registry for known weaknesses of the packages the program uses. Passes if the
 * registry cannot answer.
 */
import { spawnSync } from 'node:child_process';
import { withRuntimeLock } from './runtime-lock.ts';

export type AuditVerdict =
  | { readonly kind: 'clean' | 'weak'; readonly text: string }
  | { readonly kind: 'not-checked'; readonly text: string };

/** Reads the output of `npm audit --json`. A registry without audits answers with an error instead of counts. */
export function auditVerdict(stdout: string): AuditVerdict {
  let said: { metadata?: { vulnerabilities?: Record<string, number> }; message?: string } = {};
  try {
    said = JSON.parse(stdout) as typeof said;
  } catch {
    return { kind: 'not-checked', text: 'not checked: the registry gave no answer that can be read' };
  }
  const found = said.metadata?.vulnerabilities;
  if (found === undefined) {
    return {
      kind: 'not-checked',
      text: `not checked: ${said.message ?? 'the registry does not know audits'}`,
    };
  }
  const grave = (found['high'] ?? 0) + (found['critical'] ?? 0);
  const total = found['total'] ?? grave;
  const text = `${total} known weaknesses, ${grave} of them grave`;
  return {
    kind: grave > 0 ? 'weak' : 'clean',
    text: grave > 0 ? `${text}: see \`npm audit\`` : text,
  };
}

if (import.meta.main) {
  const { stdout } = withRuntimeLock((folder) =>
    spawnSync('npm', ['audit', '--package-lock-only', '--json'], { cwd: folder, encoding: 'utf8' }),
  );
  const verdict = auditVerdict(stdout);
  console.log(verdict.text);
  process.exitCode = verdict.kind === 'weak' ? 1 : 0;
}
