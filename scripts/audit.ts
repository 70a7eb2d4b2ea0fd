/**
 * `npm run audit`: asks the package registry for known weaknesses of the packages the program uses. Fails for grave ones, and
 * where the registry's answer proves nothing: with the others it is asked about a package that is known to be weak.
 *
 * `--registry-without-audits-passes`: not where a registry says that it has no audits, as some mirrors do.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withRuntimeLock, type LockedPackage } from './runtime-lock.ts';

interface AuditVerdict {
  readonly kind: 'clean' | 'weak' | 'not-checked' | 'no-audits';
  readonly text: string;
}

/** Its weakness is known since 2022 (CVE-2021-44906). daybook does not use it. */
const KNOWN_WEAK = { name: 'minimist', version: '0.0.8' } as const;
const NO_AUDITS: readonly unknown[] = [404, 405, 501];

interface AuditAnswer {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity?: string }>>;
  readonly message?: string;
  readonly statusCode?: number;
}

/** Reads the output of `npm audit --json` of the packages and the one that is known to be weak. */
function auditVerdict(stdout: string): AuditVerdict {
  let said: AuditAnswer | null = null;
  try {
    said = JSON.parse(stdout) as AuditAnswer | null;
  } catch {
    // Said below.
  }
  const found = said?.vulnerabilities;
  if (found === undefined) {
    const why = said?.message ?? 'the registry gave no answer that can be read';
    const kind = NO_AUDITS.includes(said?.statusCode) ? 'no-audits' : 'not-checked';
    return { kind, text: `not checked: ${why}. Ask a registry that answers audits.` };
  }
  if (found[KNOWN_WEAK.name] === undefined) {
    const text = `not checked: the registry does not know that ${KNOWN_WEAK.name} ${KNOWN_WEAK.version} is weak, so its answer proves nothing.`;
    return { kind: 'not-checked', text };
  }
  const own = Object.entries(found).filter(([name]) => name !== KNOWN_WEAK.name);
  const grave = own.filter(([, { severity }]) => severity === 'high' || severity === 'critical').length;
  const text = `${own.length} known weaknesses, ${grave} of them grave`;
  return grave > 0 ? { kind: 'weak', text: `${text}: see \`npm audit\`` } : { kind: 'clean', text };
}

/** Adds the weak package to the lock file in this folder. */
function withKnownWeak(folder: string): void {
  const { name, version } = KNOWN_WEAK;
  for (const file of ['package.json', 'package-lock.json']) {
    const content = JSON.parse(readFileSync(join(folder, file), 'utf8')) as LockedPackage & {
      readonly packages?: Readonly<Record<string, LockedPackage>>;
    };
    const top = content.packages?.[''] ?? content;
    const needing = { ...top, dependencies: { ...top.dependencies, [name]: version } };
    const changed =
      content.packages === undefined
        ? needing
        : {
            ...content,
            packages: { ...content.packages, '': needing, [`node_modules/${name}`]: { version } },
          };
    writeFileSync(join(folder, file), JSON.stringify(changed));
  }
}

const ANSWER_MS_MAX = 120_000;

if (import.meta.main) {
  const { stdout } = withRuntimeLock((folder) => {
    withKnownWeak(folder);
    const flags = ['--package-lock-only', '--json', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
    return spawnSync('npm', ['audit', ...flags], { cwd: folder, encoding: 'utf8', timeout: ANSWER_MS_MAX });
  });
  const { kind, text } = auditVerdict(stdout);
  console.log(text);
  const passes =
    kind === 'clean' || (kind === 'no-audits' && process.argv.includes('--registry-without-audits-passes'));
  process.exitCode = passes ? 0 : 1;
}
